// A batch whose hosts are killed and stopped while they run it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import type { Storage } from '../../../data/storage/index.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { endHost, type MortalHost, openStorage, startHost as startMortal } from '../fixtures/mortal-hosts.ts';

const LINES = 200;

interface Host extends MortalHost {
  readonly client: OpenAI;
  readonly anthropic: Anthropic;
}

async function startHost(folder: string): Promise<Host> {
  const host = await startMortal(folder);
  const options = { apiKey: 'none', maxRetries: 0 };
  return {
    ...host,
    client: new OpenAI({ baseURL: `${host.url}/v1`, ...options }),
    anthropic: new Anthropic({ baseURL: host.url, ...options }),
  };
}

/** Returns the ids of the answers that are stored, by their lines. */
async function storedAnswers(storage: Storage, id: string): Promise<ReadonlyMap<string, string>> {
  const answers = await storage.read(({ batchRuns }) => batchRuns.answers(id, 'output', 0));
  return new Map(answers.map(({ answer }) => idsOf(answer)));
}

function idsOf(line: string): [customId: string, id: string] {
  const told = JSON.parse(line) as {
    custom_id: string;
    response?: { body: { id: string } };
    result?: { message: { id: string } };
  };
  return [told.custom_id, (told.response?.body ?? told.result!.message).id];
}

test('a batch goes on after its host was killed or stopped, and computes no stored answer again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-batches-'));
  writeTinyLlama(join(folder, 'tiny.gguf'));
  let host = await startHost(folder);
  try {
    await using storage = openStorage(folder);
    const messages = [{ role: 'user' as const, content: 'Once upon a time' }];
    const body = { model: 'tiny', messages, max_tokens: 60, ignore_eos: true };
    const lines = Array.from({ length: LINES }, (_, n) =>
      JSON.stringify({ custom_id: `${n}`, method: 'POST', url: '/v1/chat/completions', body }),
    );
    const file = await toFile(Buffer.from(lines.join('\n')), 'in.jsonl');
    const { id: input } = await host.client.files.create({ file, purpose: 'batch' });
    const { id } = await host.client.batches.create({
      input_file_id: input,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    const known = new Map<string, string>();
    for (const end of ['kill', 'disconnect'] as const) {
      const goal = known.size + 20;
      await endHost(host, { batch: id, stored: goal, how: end });
      for (const [line, answer] of await storedAnswers(storage, id)) {
        assert.is(known.get(line) ?? answer, answer);
        known.set(line, answer);
      }
      assert.ok(known.size >= goal && known.size < LINES, `${known.size} answers`);
      host = await startHost(folder);
    }
    let batch!: OpenAI.Batches.Batch;
    await until(async () => (batch = await host.client.batches.retrieve(id)).status === 'completed', 120_000);
    assert.equal(batch.request_counts, { total: LINES, completed: LINES, failed: 0 });
    const output = await (await host.client.files.content(batch.output_file_id!)).text();
    const answers = new Map(output.trimEnd().split('\n').map(idsOf));
    assert.equal(
      [...answers.keys()],
      lines.map((_, n) => `${n}`),
    );
    for (const [line, answer] of known) assert.is(answers.get(line), answer);
    const alone = await host.client.chat.completions.create(body);
    assert.is(batch.usage!.input_tokens, LINES * alone.usage!.prompt_tokens);
  } finally {
    host.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

test('a batch of messages goes on after its host was killed, and computes no stored answer again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-batches-'));
  writeTinyLlama(join(folder, 'tiny.gguf'));
  let host = await startHost(folder);
  try {
    await using storage = openStorage(folder);
    const messages = [{ role: 'user' as const, content: 'Once upon a time' }];
    const params = { model: 'tiny', messages, max_tokens: 60 };
    const requests = Array.from({ length: 100 }, (_, n) => ({ custom_id: `${n}`, params }));
    const { id } = await host.anthropic.messages.batches.create({ requests });
    await endHost(host, { batch: id, stored: 10, how: 'kill' });
    const known = await storedAnswers(storage, id);
    assert.ok(known.size >= 10 && known.size < requests.length, `${known.size} answers`);
    host = await startHost(folder);
    const { batches } = host.anthropic.messages;
    let batch!: Anthropic.Messages.MessageBatch;
    await until(async () => (batch = await batches.retrieve(id)).processing_status === 'ended', 120_000);
    assert.is(batch.request_counts.succeeded, requests.length);
    const answers = new Map<string, string>();
    for await (const line of await batches.results(id)) answers.set(...idsOf(JSON.stringify(line)));
    assert.is(answers.size, requests.length);
    for (const [name, message] of known) assert.is(answers.get(name), message);
  } finally {
    host.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

if (cannotRun === undefined) test.run();
else skip('batches of killed hosts', cannotRun);
