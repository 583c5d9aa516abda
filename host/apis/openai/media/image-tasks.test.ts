// Images in requests that nobody waits for: responses in the background, and batches of both APIs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { type OpenAI, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IMAGE_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { jsonl, lineOf } from '../fixtures/batch-inputs.ts';
import { chatOf } from '../fixtures/chats.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from '../fixtures/openai-app.ts';

/** Fewer bytes than the base64 of a picture has. */
const MAX_JSON_BYTES = 2000;

const Tasks = suite('images in requests that nobody waits for');
let at: OpenAiApp;
let client: OpenAI;
let lions: Buffer;
let boats: Buffer;

Tasks.before(async () => {
  [lions, boats] = await Promise.all([testPng(1), testPng(2)]);
  at = await startOpenAiApp({
    config: { limits: { max_json_bytes: MAX_JSON_BYTES }, media: { ffmpeg_path: ffmpegPath() } },
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      const kwargs = { n_ctx: 512, n_threads: 1, n_seq_max: 4, mmproj };
      app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: kwargs }));
    },
  });
  client = at.client;
});
Tasks.after(async () => at?.[Symbol.asyncDispose]());

const question = { type: 'text' as const, text: 'Once upon a time' };
const inputImage = (file: Buffer) => ({
  type: 'input_image' as const,
  image_url: dataUrl(file),
  detail: 'auto' as const,
});
const asking = (...pictures: readonly Buffer[]): OpenAI.Responses.ResponseCreateParamsNonStreaming => ({
  model: 'seeing',
  input: [
    { role: 'user', content: [...pictures.map(inputImage), { type: 'input_text', text: question.text }] },
  ] as OpenAI.Responses.ResponseInput,
  temperature: 0,
  max_output_tokens: 16,
});

async function madeOf(id: string): Promise<OpenAI.Responses.Response> {
  let response!: OpenAI.Responses.Response;
  await until(async () => {
    response = await client.responses.retrieve(id);
    return response.status !== 'queued' && response.status !== 'in_progress';
  });
  return response;
}

Tasks(
  'a response in the background sees what a response sees, also in its next turn and in results of tools',
  async () => {
    const waited = await client.responses.create(asking(lions, boats));
    const made = await madeOf((await client.responses.create({ ...asking(lions, boats), background: true })).id);
    assert.equal([made.status, made.output_text], [waited.status, waited.output_text]);
    assert.is((made.usage!.input_tokens_details as { image_tokens?: number }).image_tokens, 2 * IMAGE_TOKENS);
    const blind = await client.responses.create(asking());
    assert.is.not(made.output_text, blind.output_text);
    const next = { ...asking(), previous_response_id: made.id };
    const later = await madeOf((await client.responses.create({ ...next, background: true })).id);
    assert.is(later.output_text, (await client.responses.create(next)).output_text);
    assert.ok(later.usage!.input_tokens > made.usage!.input_tokens);
    const call = { type: 'function_call' as const, call_id: 'c', name: 'look', arguments: '{}' };
    const output = { type: 'function_call_output' as const, call_id: 'c', output: [inputImage(lions)] };
    const shown = { ...asking(), input: [{ role: 'user' as const, content: 'Look.' }, call, output] };
    const seen = await madeOf((await client.responses.create({ ...shown, background: true })).id);
    assert.is(seen.output_text, (await client.responses.create(shown)).output_text);
  },
);

Tasks('what is wrong with an image is told by the response that failed', async () => {
  const wrong = { ...inputImage(lions), image_url: dataUrl(Buffer.from('words')) };
  const input = [{ role: 'user' as const, content: [wrong] }];
  const begun = await client.responses.create({ model: 'seeing', input, background: true });
  const { status, error } = await madeOf(begun.id);
  assert.is(status, 'failed');
  assert.match(error!.message, /^'input\[0\]\.content\[0\]\.image_url': .*not an image/);
});

Tasks('the tokens of a dialog are counted with its images', async () => {
  const { model, input } = asking(lions, boats);
  const { input_tokens: counted } = await client.responses.inputTokens.count({ model, input } as object);
  assert.is(counted, (await client.responses.create(asking(lions, boats))).usage!.input_tokens);
});

Tasks('a batch sees images, which its lines have beside their JSON', async () => {
  const chat = (file: Buffer): object => chatOf('seeing', [imageUrl(dataUrl(file)), question]);
  const large = await testPng(3, 300, 280);
  assert.ok(dataUrl(large).length > MAX_JSON_BYTES);
  const lines = [lineOf('lions', chat(lions)), lineOf('boats', chat(boats)), lineOf('large', chat(large))];
  const results = await batchOf(lines);
  for (const [name, file] of [
    ['lions', lions],
    ['boats', boats],
    ['large', large],
  ] as const) {
    const alone = (await (await at.post('/v1/chat/completions', chat(file))).json()) as OpenAI.ChatCompletion;
    const { choices, usage } = results.get(name)!;
    assert.is(choices[0]!.message.content, alone.choices[0]!.message.content, name);
    assert.ok((usage!.prompt_tokens_details as { image_tokens?: number }).image_tokens! >= IMAGE_TOKENS);
  }
  const long = chatOf('seeing', [{ type: 'text', text: 'x'.repeat(MAX_JSON_BYTES) }]);
  assert.match(await failureOf([lineOf('long', long)]), /more than 2000 bytes beside its images/);
});

Tasks('a batch goes on where no model sees any more: only its requests with images fail', async () => {
  await using blind = await startOpenAiApp({ config: { limits: { max_json_bytes: MAX_JSON_BYTES } } });
  const large = dataUrl(await testPng(3, 300, 280));
  const lines = [lineOf('seen', chatOf('tiny', [imageUrl(large)])), lineOf('read', chatOf('tiny', 'Hello'))];
  const batch = await begunBatch(lines, blind.client);
  assert.equal({ ...batch.request_counts }, { total: 2, completed: 1, failed: 1 }, JSON.stringify(batch.errors));
  const wrong = await (await blind.client.files.content(batch.error_file_id!)).text();
  assert.match(wrong, /"seen".*messages\[0\]\.content\[0\]\.type.*takes no images/);
});

Tasks(
  'a batch that was accepted goes on where less is allowed: only its requests that are too large fail',
  async () => {
    const data = await mkdtemp(join(tmpdir(), 'aana-accepted-'));
    const start = (isHeld: boolean, maxBytes: number): Promise<OpenAiApp> =>
      startOpenAiApp({
        config: {
          data_dir: data,
          limits: { max_json_bytes: isHeld ? MAX_JSON_BYTES : 1000 },
          media: { ffmpeg_path: ffmpegPath() },
          openai: { image_input: { max_bytes: maxBytes }, batches: { concurrent_requests: 1 } },
        },
        prepare: (app, tiny) => {
          if (isHeld) registerEndless(app, tiny);
          else app.registerDeployment('endless', llamaOptions(tiny, { default_sampling_params: { max_tokens: 2 } }));
          const { model, mmproj } = writeSeeing(dirname(tiny));
          const kwargs = { n_ctx: 512, n_threads: 1, mmproj };
          app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: kwargs }));
        },
      });
    try {
      const large = await testPng(3, 300, 280);
      const asked = { ...chatOf('endless', 'x'.repeat(MAX_JSON_BYTES - 300)), max_tokens: undefined };
      const lines = [
        lineOf('held', { ...asked, messages: [{ role: 'user', content: 'Hello' }] }),
        lineOf('large', chatOf('seeing', [imageUrl(dataUrl(large)), question])),
        lineOf('long', { ...asked, overflow: 'truncate_middle' }),
        lineOf('small', chatOf('seeing', [imageUrl(dataUrl(lions)), question])),
      ];
      let id = '';
      {
        await using before = await start(true, 1_000_000);
        const input = await before.client.files.create({
          file: await toFile(Buffer.from(jsonl(lines)), 'in.jsonl'),
          purpose: 'batch',
        });
        const request = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
        ({ id } = await before.client.batches.create({ input_file_id: input.id, ...request }));
        await until(async () => (await before.client.batches.retrieve(id)).status === 'in_progress');
      }
      assert.ok(lions.length < large.length);
      await using after = await start(false, large.length - 1);
      let batch!: OpenAI.Batch;
      await until(async () => {
        batch = await after.client.batches.retrieve(id);
        return batch.status === 'completed' || batch.status === 'failed';
      });
      assert.equal({ ...batch.request_counts }, { total: 4, completed: 3, failed: 1 }, JSON.stringify(batch));
      const wrong = await (await after.client.files.content(batch.error_file_id!)).text();
      assert.match(wrong, /"large".*413.*openai\.image_input\.max_bytes/);
    } finally {
      await rm(data, { recursive: true, force: true });
    }
  },
);

async function begunBatch(lines: readonly object[], by = client): Promise<OpenAI.Batch> {
  const file = await by.files.create({
    file: await toFile(Buffer.from(jsonl(lines)), 'in.jsonl'),
    purpose: 'batch',
  });
  const { id } = await by.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  let batch!: OpenAI.Batch;
  await until(async () => ['completed', 'failed'].includes((batch = await by.batches.retrieve(id)).status));
  return batch;
}

async function batchOf(lines: readonly object[]): Promise<Map<string, OpenAI.ChatCompletion>> {
  const batch = await begunBatch(lines);
  assert.is(batch.request_counts?.completed, lines.length, JSON.stringify(batch));
  const text = await (await client.files.content(batch.output_file_id!)).text();
  const answers = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as BatchAnswer]));
  return new Map(answers.map(({ custom_id: id, response }) => [id, response.body]));
}

interface BatchAnswer {
  readonly custom_id: string;
  readonly response: { readonly body: OpenAI.ChatCompletion };
}

const failureOf = async (lines: readonly object[]): Promise<string> =>
  (await begunBatch(lines)).errors!.data![0]!.message!;

Tasks('a batch of messages sees the images of the user and of results of tools', async () => {
  const anthropic = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: lions.toString('base64') },
  };
  const of = (messages: Anthropic.MessageParam[]): Anthropic.MessageCreateParamsNonStreaming => ({
    ...{ model: 'seeing', messages, max_tokens: 12, temperature: 0 },
  });
  const dialogs = {
    user: of([{ role: 'user', content: [image, question] }]),
    tool: of([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'camera', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
    ]),
  };
  const words = { ...image, source: { ...image.source, data: Buffer.from('words').toString('base64') } };
  const failing = of([{ role: 'user', content: [image, question, words] }]);
  const told = await anthropic.messages.create(failing).catch((error: Error) => error.message);
  assert.match(String(told), /'messages\[0\]\.content\[2\]\.source\.data': .*not an image/);
  const { id } = await anthropic.messages.batches.create({
    requests: Object.entries(dialogs).map(([custom_id, params]) => ({ custom_id, params })),
  });
  await until(async () => (await anthropic.messages.batches.retrieve(id)).processing_status === 'ended');
  for await (const { custom_id: name, result } of await anthropic.messages.batches.results(id)) {
    assert.is(result.type, 'succeeded', JSON.stringify(result));
    const alone = await anthropic.messages.create(dialogs[name as keyof typeof dialogs]);
    if (result.type === 'succeeded') assert.equal(result.message.content, alone.content);
  }
});

if (cannotRun !== undefined) skip('images in requests that nobody waits for', cannotRun);
else Tasks.run();
