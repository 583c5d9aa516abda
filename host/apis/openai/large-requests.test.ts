// Requests as large as may be whose values are wrong: the first mistake is told, and the server goes on.
import { dirname } from 'node:path';
import { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { SocketClient } from '../http/sockets/fixtures/socket-client.ts';
import { writeSeeing } from './fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Large = suite('large requests of mistakes');
let at: OpenAiApp;

Large.before(async () => {
  at = await startOpenAiApp({
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: { n_ctx: 512, n_threads: 1, mmproj } }));
    },
  });
});
Large.after(async () => at?.[Symbol.asyncDispose]());

/** As many numbers as 4 MB of JSON hold. */
const NUMBERS = `[${'0,'.repeat(2_000_000)}0]`;
const MESSAGES = '[{"role":"user","content":"Once upon a time"}]';
const MEMBERS = `{${Array.from({ length: 90_000 }, (_, n) => `"${n}":"a"`).join()}}`;
const ELEMENTS = 'Input should have at most 100000 elements (limits.max_json_elements)';

const REFUSED: readonly [what: string, path: string, members: string, message: string][] = [
  ['messages', '/v1/chat/completions', `"messages":${NUMBERS}`, "'messages': List should have at most 2048 items"],
  ['tools', '/v1/chat/completions', `"messages":${MESSAGES},"tools":${NUMBERS}`, "'tools': List should have at most"],
  [
    'logit_bias',
    '/v1/chat/completions',
    `"messages":${MESSAGES},"logit_bias":${MEMBERS}`,
    "'logit_bias': Value error, must have at most 1024 members",
  ],
  ['members of objects', '/v1/chat/completions', `"messages":[${'{},'.repeat(200_000)}{}]`, ELEMENTS],
  [
    'messages of Anthropic',
    '/v1/messages',
    `"max_tokens":1,"messages":${NUMBERS}`,
    "'messages': List should have at most 2048 items",
  ],
  ['messages of a count', '/v1/tokenize', `"messages":${NUMBERS}`, "'messages': List should have at most 2048 items"],
  [
    'tokens',
    '/v1/detokenize',
    `"tokens":[${'-1,'.repeat(900_000)}-1]`,
    "'tokens[0]': Input should be greater than or equal to 0",
  ],
];

for (const [what, path, members, message] of REFUSED)
  Large(`${what}: ${path} names the first mistake`, async () => {
    const response = await at.post(path, `{"model":"tiny",${members}}`);
    const text = await response.text();
    assert.is(response.status, 400, text.slice(0, 500));
    assert.ok(text.includes(message), text.slice(0, 500));
    assert.ok(text.length < 1000, `${text.length} characters`);
  });

Large('a large body for images may have no other large part', async () => {
  const body = `{"model":"seeing","messages":[${'0,'.repeat(12_000_000)}0]}`;
  const response = await at.post('/v1/chat/completions', body);
  assert.is(response.status, 413, await response.text());
});

Large('a realtime session goes on after them', async () => {
  const client = await SocketClient.open(`${at.url.replace('http', 'ws')}/v1/realtime?intent=transcription`);
  await client.message(0);
  const include = `[${'0,'.repeat(400_000)}0]`;
  client.socket.send(`{"type":"session.update","session":{"type":"transcription","include":${include}}}`);
  const { type, error } = (await client.message(1)) as { type: string; error: { message: string; param: string } };
  assert.equal([type, error.param], ['error', 'session.include']);
  client.socket.send('{"type":"session.update","session":{"type":"transcription"}}');
  assert.is(((await client.message(2)) as { type: string }).type, 'session.updated');
  client.socket.terminate();
});

Large('each line of a batch gets its error', async () => {
  const lines = ['0', '1', '2'].map(
    (id) =>
      `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions",` +
      `"body":{"model":"tiny","messages":[${'0,'.repeat(600_000)}0]}}`,
  );
  const file = await toFile(Buffer.from(lines.join('\n')), 'in.jsonl');
  const { id: input_file_id } = await at.client.files.create({ file, purpose: 'batch' });
  const made = await at.client.batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  await until(async () => (await at.client.batches.retrieve(made.id)).status === 'completed');
  const { error_file_id } = await at.client.batches.retrieve(made.id);
  const errors = await (await at.client.files.content(error_file_id!)).text();
  assert.is(errors.match(/"param":"messages"/g)?.length, 3, errors.slice(0, 1000));
});

Large('and the server goes on', async () => {
  const response = await at.post('/v1/chat/completions', `{"model":"tiny","max_tokens":1,"messages":${MESSAGES}}`);
  assert.is(response.status, 200, await response.text());
});

if (cannotRun !== undefined) skip('large requests of mistakes', cannotRun);
else Large.run();
