// Responses in the background whose host is killed while it makes them.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../../../native/lib/fixtures/tiny-llama.ts';
import { startHost } from '../../fixtures/mortal-hosts.ts';
import { cannotRun } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { until } from '../../../../test/helpers/server.ts';
import { skip } from '../../../../test/skip.ts';

type Response = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;

const RESPONSES = 60;

async function startClient(folder: string): Promise<{ readonly process: ChildProcess; readonly client: OpenAI }> {
  const { process: child, url } = await startHost(folder);
  return { process: child, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }) };
}

const hasEnded = ({ status }: Response): boolean => status !== 'queued' && status !== 'in_progress';

test('the next host makes responses after theirs was killed, and those that have ended stay as they are', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-background-'));
  writeTinyLlama(join(folder, 'tiny.gguf'));
  let host = await startClient(folder);
  const found = (ids: readonly string[]): Promise<Response[]> =>
    Promise.all(ids.map((id) => host.client.responses.retrieve(id)));
  try {
    const request = {
      ...{ model: 'tiny', input: 'Once upon a time', max_output_tokens: 300, ignore_eos: true },
      background: true,
    } as const;
    const ids: string[] = [];
    for (let n = 0; n < RESPONSES; n += 1) ids.push((await host.client.responses.create(request)).id);
    let before: Response[] = [];
    await until(async () => (before = (await found(ids)).filter(hasEnded)).length > 0);
    let streamed = '';
    let seen = 0;
    for (;;) {
      const stream = await host.client.responses.create({ ...request, max_output_tokens: 450, stream: true });
      const exited = once(host.process, 'exit');
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id: streamed } = event.response);
        seen = event.sequence_number;
        if (event.type !== 'response.output_text.delta') continue;
        host.process.kill('SIGKILL');
        break;
      }
      await exited;
      host = await startClient(folder);
      if (!hasEnded(await host.client.responses.retrieve(streamed))) break; // else it had ended before the kill
    }
    const events: Event[] = [];
    for await (const event of await host.client.responses.retrieve(streamed, { stream: true, starting_after: seen }))
      events.push(event);
    let after: Response[] = [];
    await until(async () => (after = await found(ids)).every(hasEnded), 120_000);
    for (const response of before)
      assert.equal(
        after.find(({ id }) => id === response.id),
        response,
      );
    for (const { status, usage } of after) assert.equal([status, usage?.output_tokens], ['incomplete', 300]);

    const numbers = events.map(({ sequence_number: number }) => number);
    assert.equal(
      numbers,
      numbers.map((_, n) => numbers[0]! + n),
    );
    assert.ok(numbers[0]! > seen);
    const again = events.slice(events.findIndex(({ type }) => type === 'response.created'));
    assert.is(again[1]?.type, 'response.in_progress', 'the answer begins again');
    const text = again.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    assert.is(text, (await host.client.responses.retrieve(streamed)).output_text);
  } finally {
    host.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

if (cannotRun === undefined) test.run();
else skip('responses of killed hosts', cannotRun);
