// Stored files as images of dialogs, with the official clients, a tiny model and its vision projector.
import { dirname } from 'node:path';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IMAGE_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Images = suite('stored files as images of dialogs');
const MAX_JSON_BYTES = 2000;
const MAX_IMAGE_BYTES = 200_000;
let at: OpenAiApp;
let ann: OpenAI;
let lions: Buffer;
/** The stored file with the lions. */
let id = '';

Images.before(async () => {
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      limits: { max_json_bytes: MAX_JSON_BYTES },
      media: { ffmpeg_path: ffmpegPath() },
      openai: { image_input: { max_bytes: MAX_IMAGE_BYTES } },
    },
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      const kwargs = { n_ctx: 512, n_threads: 1, n_seq_max: 4, mmproj };
      app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: kwargs }));
    },
  });
  ann = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: await keyOf('ann'), maxRetries: 0 });
  lions = await testPng(1, 300, 280);
  assert.ok(lions.length > MAX_JSON_BYTES);
  id = await stored(lions);
});
Images.after(async () => at?.[Symbol.asyncDispose]());

const keyOf = async (user: string, ...scopes: string[]): Promise<string> =>
  (await at.app.apiKeys!.create({ user_id: user, ...(scopes.length > 0 && { scopes }) })).apiKey;

async function stored(content: Uint8Array | string, name = 'lions.txt', purpose: 'vision' | 'user_data' = 'vision') {
  return (await ann.files.create({ file: await toFile(Buffer.from(content as Uint8Array), name), purpose })).id;
}

const question = { type: 'text' as const, text: 'Once upon a time' };

const chat = async (part: object, model = 'seeing', client = ann): Promise<OpenAI.ChatCompletion> =>
  client.chat.completions.create({
    ...{ model, temperature: 0, max_tokens: 12 },
    messages: [{ role: 'user', content: [part as OpenAI.ChatCompletionContentPart, question] }],
  });
const chatFile = (file_id: string, model?: string, client?: OpenAI): Promise<OpenAI.ChatCompletion> =>
  chat({ type: 'file', file: { file_id } }, model, client);

const textOf = ({ choices, usage }: OpenAI.ChatCompletion): unknown => [
  choices[0]!.message.content,
  usage!.prompt_tokens,
  usage!.prompt_tokens_details,
];

Images('are seen in a chat as in the request, whatever their name and purpose say', async () => {
  const seen = await chat(imageUrl(dataUrl(lions)));
  assert.ok((seen.usage!.prompt_tokens_details as { image_tokens?: number }).image_tokens! >= IMAGE_TOKENS);
  const again = textOf(await chat(imageUrl(dataUrl(lions))));
  assert.equal(textOf(await chatFile(id)), again);
  assert.equal(textOf(await chatFile(await stored(lions, 'a.json', 'user_data'))), again);
  let streamed = '';
  for await (const chunk of await ann.chat.completions.create({
    ...{ model: 'seeing', temperature: 0, max_tokens: 12, stream: true },
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }, question] }],
  }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  assert.is(streamed, seen.choices[0]!.message.content);
});

const respond = (content: readonly object[], more: object = {}, client = ann): Promise<OpenAI.Responses.Response> =>
  client.responses.create({
    ...{ model: 'seeing', temperature: 0, max_output_tokens: 16 },
    input: [{ role: 'user', content: [...content, { type: 'input_text', text: question.text }] }] as never,
    ...more,
  });

Images('are seen in responses, also in results of tools, in the background and when the file is gone', async () => {
  const wanted = await respond([{ type: 'input_image', image_url: dataUrl(lions) }]);
  for (const part of [
    { type: 'input_image', file_id: id },
    { type: 'input_image', file_id: id, detail: 'low' },
    { type: 'input_file', file_id: id },
  ])
    assert.is((await respond([part])).output_text, wanted.output_text, JSON.stringify(part));
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const shown = (image: object) => ({
    input: [{ role: 'user', content: 'Hi' }, call, { type: 'function_call_output', call_id: 'c', output: [image] }],
  });
  const result = await respond([], shown({ type: 'input_image', image_url: dataUrl(lions) }));
  assert.is((await respond([], shown({ type: 'input_image', file_id: id }))).output_text, result.output_text);

  const short = await stored(lions);
  const content = [{ type: 'input_image' as const, file_id: short, detail: 'auto' as const }];
  const { input_tokens: counted } = await ann.responses.inputTokens.count({
    model: 'seeing',
    input: [{ role: 'user', content: [...content, { type: 'input_text', text: question.text }] }],
  });
  assert.is(counted, wanted.usage!.input_tokens);
  let made = await respond(content, { background: true });
  await ann.files.delete(short);
  await until(async () => (made = await ann.responses.retrieve(made.id)).output_text !== '');
  assert.is(made.output_text, wanted.output_text);
  const next = (previous: string): Promise<OpenAI.Responses.Response> =>
    respond([], { previous_response_id: previous, input: 'And then?' });
  assert.is((await next(made.id)).output_text, (await next(wanted.id)).output_text);
});

Images('are seen in messages of Anthropic’s API, where a stored document is its text', async () => {
  const anthropic = new Anthropic({ baseURL: at.url, apiKey: ann.apiKey, maxRetries: 0 });
  const ask = async (...content: readonly object[]): Promise<unknown> => {
    const { content: answer, usage } = await anthropic.messages.create({
      ...{ model: 'seeing', max_tokens: 12, temperature: 0 },
      messages: [{ role: 'user', content: [...content, question] as Anthropic.ContentBlockParam[] }],
    });
    return [answer, usage.input_tokens + (usage.cache_read_input_tokens ?? 0)];
  };
  const image = (source: object): object => ({ type: 'image', source });
  const inline = { type: 'base64', media_type: 'image/png', data: lions.toString('base64') };
  const file = { type: 'file', file_id: id };
  assert.equal(await ask(image(file)), await ask(image(inline)));
  const inside = { type: 'document', source: { type: 'content', content: [image(file)] } };
  assert.equal(await ask(inside), await ask(image(inline)));
  const text = { type: 'file', file_id: await stored('Lions sleep.', 'a.md', 'user_data') };
  assert.equal(await ask({ type: 'document', source: text }), await ask({ type: 'text', text: 'Lions sleep.' }));
  const small = await stored(await testPng(1, 8, 8));
  for (const [block, path, status, message] of [
    [image({ type: 'file', file_id: 'file-none' }), 'source.file_id', 404, /No such File/],
    [image(text), 'source.file_id', 400, /the file .{1,2}a\.md.{1,2} is no image/],
    [{ type: 'document', source: { ...file, file_id: small } }, 'source.file_id', 400, /lions\.txt.{1,2} is no text/],
  ] as const) {
    const error = await errorOf(ask(block), AnthropicError);
    assert.is(error.status, status, error.message);
    assert.match(error.message, message);
    if (status === 400) assert.ok(error.message.includes(`messages[0].content[0].${path}`), error.message);
  }
  const batch = await anthropic.messages.batches.create({
    requests: [
      {
        custom_id: 'a',
        params: { model: 'seeing', max_tokens: 2, messages: [{ role: 'user', content: [image(file)] as never }] },
      },
    ],
  });
  await until(async () => (await anthropic.messages.batches.retrieve(batch.id)).processing_status === 'ended');
  for await (const { result } of await anthropic.messages.batches.results(batch.id))
    assert.match(JSON.stringify(result), /source\.file_id.*files are read only for requests that wait/);
});

Images('of others, too large, no images or for a model that sees none are refused by name', async () => {
  const bob = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: await keyOf('bob'), maxRetries: 0 });
  const narrow = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: await keyOf('ann', '/v1/responses'), maxRetries: 0 });
  const [text, broken, large, empty] = await Promise.all([
    stored('BM words', 'bitmap.md', 'user_data'),
    stored(lions.subarray(0, 300), 'broken.png'),
    stored(Buffer.concat([lions, Buffer.alloc(MAX_IMAGE_BYTES)])),
    stored(Buffer.from([0x50, 0x4b, 3, 4, 0, 0xff]), 'a.zip'),
  ]);
  const image = (file_id: string, more: object = {}): object => ({ type: 'input_image', file_id, ...more });
  const place = 'input[0].content[0]';
  for (const [work, status, param, message] of [
    [() => respond([image(id)], {}, bob), 404, `${place}.file_id`, /No such File/],
    [() => chatFile(id, 'seeing', bob), 404, 'messages[0].content[0].file.file_id', /No such File/],
    [() => respond([image(id)], {}, narrow), 403, null, /does not allow to read files/],
    [() => respond([image('file-none')]), 404, `${place}.file_id`, /No such File/],
    [() => respond([image(id, { image_url: dataUrl(lions) })]), 400, `${place}.file_id`, /not both/],
    [() => respond([{ type: 'input_image' }]), 400, `${place}.image_url`, /required/],
    [() => respond([image(text)]), 400, `${place}.file_id`, /"bitmap\.md" is no image/],
    [() => respond([image(empty)]), 400, `${place}.file_id`, /"a\.zip" is no image/],
    [() => chatFile(empty), 400, 'messages[0].content[0].file.file_id', /"a\.zip" is no text.*PDF and images/],
    [() => respond([image(broken)]), 400, `${place}.image_url`, /image/],
    [() => respond([image(large)]), 413, null, /images in the request are too large.*openai\.image_input\.max_bytes/],
    [() => respond(Array.from({ length: 17 }, () => image(id))), 400, 'input[0].content[16]', /may have 16 files/],
    [() => chatFile(id, 'tiny'), 400, 'messages[0].content[0].type', /takes no images/],
    [() => respond([image(id)], { model: 'tiny' }), 400, `${place}.type`, /takes no images/],
  ] as const) {
    const error = await errorOf(work() as Promise<unknown>, APIError);
    assert.equal([error.status, error.param ?? null], [status, param], error.message);
    assert.match(error.message, message);
  }
  const read = await chatFile(text);
  assert.is(read.usage!.prompt_tokens, (await chat({ type: 'text', text: 'BM words' })).usage!.prompt_tokens);
});

if (cannotRun !== undefined) skip('stored files as images of dialogs', cannotRun);
else Images.run();
