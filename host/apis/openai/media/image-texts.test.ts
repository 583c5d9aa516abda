// Images and videos in dialogs for a model that sees none: the published networks read their texts for it.
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { type OpenAI, toFile } from 'openai';
import { LlamaTextGenerationDeployment, OcrDeployment } from 'aana-host';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../../base/core/package-root.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { jsonl, lineOf } from '../fixtures/batch-inputs.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { dataUrl, imageUrl, testPng } from '../fixtures/images.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const SLIDE = join(packageRoot, 'host/inference/engines/ocr/fixtures/slide.png');
/** The slide's text without spaces, some of which these networks lose. */
const WORDS = ['Thewatercycle', '1Evaporationfromthesea', '2Cloudsformat2000m', '3Rainandsnow'];

const Reading = suite('texts of images for models that see none');
const media = mkdtempSync(join(tmpdir(), 'aana-reading-'));
let at: OpenAiApp;
let client: OpenAI;
let slide: Buffer;
let film: Buffer;
/** What the model reads in the place of the slide. */
let text = '';

Reading.before(async () => {
  slide = await readFile(SLIDE);
  // Four seconds of the slide, then one of nothing.
  film = await readFile(
    await makeMedia(
      ffmpegPath(),
      join(media, 'film.mp4'),
      ...['-loop', '1', '-t', '4', '-i', SLIDE, '-f', 'lavfi', '-i', 'color=white:s=640x360:d=1'],
      ...['-filter_complex', '[0]scale=640:360,setsar=1[a];[1]setsar=1[b];[a][b]concat'],
      ...['-r', '4', '-pix_fmt', 'yuv420p'],
    ),
  );
  at = await startOpenAiApp({
    config: {
      media: { temp_dir: media, ffmpeg_path: ffmpegPath() },
      openai: {
        aliases: {
          shared: {
            deployments: [
              { name: 'tiny', weight: 1000 },
              { name: 'llm', weight: 1 },
            ],
          },
        },
      },
      api_service: { enabled: true },
    },
    prepare: (app) => {
      app.registerDeployment(
        'llm',
        LlamaTextGenerationDeployment.options({
          handles: { ocr: 'ocr' },
          user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 1024, n_threads: 1 } },
        }),
      );
      app.registerDeployment(
        'ocr',
        OcrDeployment.options({ user_config: { threads: 1 }, health_check_timeout_s: 300 }),
      );
    },
  });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  client = at.client.withOptions({ apiKey });
  await using image = await at.app.openImage({ path: SLIDE }, { allowPaths: [dirname(SLIDE)] });
  const { lines } = await at.app.handle(OcrDeployment, 'ocr').recognize({ image });
  text = `[Image 1: its text, read by OCR]\n${lines.map((line) => `> ${line.text}`).join('\n')}`;
});
Reading.after(async () => {
  await at?.[Symbol.asyncDispose]();
  rmSync(media, { recursive: true, force: true });
});

const question = { type: 'text' as const, text: 'What is the title?' };
const letters = (some: string): string => some.replaceAll(/[^\p{L}\p{N}]/gu, '');
const chat = (...content: readonly object[]) => chatOf('llm', [...content, question]);

Reading('the prompt of the model holds the words of the slide', async () => {
  await using image = await at.app.openImage({ path: SLIDE }, { allowPaths: [dirname(SLIDE)] });
  const dialog = { messages: [{ role: 'user', content: [{ type: 'image', image }, question] }] };
  const { tokens } = (await at.app.handle('llm').call('tokenize', { dialog })) as { readonly tokens: number[] };
  const { text: prompt } = (await at.app.handle('llm').call('detokenize', { tokens })) as { readonly text: string };
  assert.ok(prompt.includes(`${text}\n${question.text}`), prompt);
  for (const words of WORDS) assert.ok(letters(prompt).includes(words), prompt);
});

Reading('a chat with a slide is the chat with its text, whole and in pieces', async () => {
  const written = await client.chat.completions.create(chat({ type: 'text', text }));
  const seen = await client.chat.completions.create(chat(imageUrl(dataUrl(slide))));
  assert.is(seen.choices[0]!.message.content, written.choices[0]!.message.content);
  assert.is(seen.usage!.prompt_tokens, written.usage!.prompt_tokens);
  assert.is((seen.usage!.prompt_tokens_details as { image_tokens?: number }).image_tokens, undefined);
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ ...chat(imageUrl(dataUrl(slide))), stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  assert.is(streamed, written.choices[0]!.message.content);
  const empty = await client.chat.completions.create(chat(imageUrl(dataUrl(await testPng(1)))));
  const told = await client.chat.completions.create(chat({ type: 'text', text: '[Image 1: no text was read]' }));
  assert.is(empty.usage!.prompt_tokens, told.usage!.prompt_tokens);
});

Reading('a video is the texts of its frames with their times', async () => {
  const url = dataUrl(film, 'video/mp4');
  const seen = await client.chat.completions.create({
    ...chat({ type: 'video_url', video_url: { url } }),
    ...{ media_io_kwargs: { video: { fps: 1 } } },
  });
  const shown = text.replace('[Image 1:', '[Video from 0.0 to 3.0 seconds:');
  const places = [shown, '[Video at 4.0 seconds: no text was read]'].map((place) => ({ type: 'text', text: place }));
  const written = await client.chat.completions.create(chat(...places));
  assert.is(seen.usage!.prompt_tokens, written.usage!.prompt_tokens);
});

Reading('the small print of a video is read, which is lost in the size in which models see frames', async () => {
  const path = await makeMedia(
    ffmpegPath(),
    join(media, 'print.mp4'),
    ...['-f', 'lavfi', '-i', 'color=white:s=1280x720:d=1:r=1', '-i', SLIDE],
    ...['-filter_complex', '[1]scale=330:-2[slide];[0][slide]overlay=40:40', '-crf', '12', '-pix_fmt', 'yuv420p'],
  );
  const readAt = async (side: number): Promise<string> => {
    await using video = await at.app.openVideo({ path }, { allowPaths: [media] });
    for await (const { image } of video.frames({ count: 1, max_width: side, max_height: side })) {
      const { lines } = await at.app.handle(OcrDeployment, 'ocr').recognize({ image });
      return ['[Video at 0.0 seconds: its text, read by OCR]', ...lines.map((line) => `> ${line.text}`)].join('\n');
    }
    return '';
  };
  const [whole, small] = [await readAt(1280), await readAt(768)];
  for (const words of WORDS) assert.ok(letters(whole).includes(words), whole);
  assert.is.not(small, whole);
  const part = { type: 'video_url', video_url: { url: dataUrl(await readFile(path), 'video/mp4') } };
  const seen = await client.chat.completions.create(chat(part));
  const written = await client.chat.completions.create(chat({ type: 'text', text: whole }));
  assert.is(seen.choices[0]!.message.content, written.choices[0]!.message.content);
  assert.is(seen.usage!.prompt_tokens, written.usage!.prompt_tokens);
});

Reading('responses, also in the background and in their next turns, and batches have the text', async () => {
  const of = (part: object): OpenAI.Responses.ResponseCreateParamsNonStreaming => ({
    ...{ model: 'llm', temperature: 0, max_output_tokens: 16 },
    input: [{ role: 'user', content: [part, { type: 'input_text', text: question.text }] }] as never,
  });
  const image = { type: 'input_image', image_url: dataUrl(slide) };
  const written = await client.responses.create(of({ type: 'input_text', text }));
  const seen = await client.responses.create(of(image));
  assert.equal([seen.output_text, seen.usage!.input_tokens], [written.output_text, written.usage!.input_tokens]);
  const next = (previous: string): Promise<OpenAI.Responses.Response> =>
    client.responses.create({ ...of({ type: 'input_text', text: 'And?' }), previous_response_id: previous });
  assert.is((await next(seen.id)).output_text, (await next(written.id)).output_text);
  let made = await client.responses.create({ ...of(image), background: true });
  await until(async () => (made = await client.responses.retrieve(made.id)).output_text !== '');
  assert.is(made.output_text, written.output_text);

  const input = await client.files.create({
    file: await toFile(Buffer.from(jsonl([lineOf('slide', chat(imageUrl(dataUrl(slide))))])), 'in.jsonl'),
    purpose: 'batch',
  });
  const request = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  let batch = await client.batches.create({ input_file_id: input.id, ...request });
  await until(async () => (batch = await client.batches.retrieve(batch.id)).status === 'completed');
  const answers = await (await client.files.content(batch.output_file_id!)).text();
  const { response } = JSON.parse(answers) as { response: { body: OpenAI.ChatCompletion } };
  const alone = await client.chat.completions.create(chat({ type: 'text', text }));
  assert.is(response.body.choices[0]!.message.content, alone.choices[0]!.message.content);
});

Reading('Anthropic’s API has the text, and counts its tokens', async () => {
  const anthropic = new Anthropic({ baseURL: at.url, apiKey: client.apiKey!, maxRetries: 0 });
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: slide.toString('base64') };
  const of = (block: Anthropic.ContentBlockParam): Anthropic.MessageCreateParamsNonStreaming => ({
    ...{ model: 'llm', max_tokens: 12, temperature: 0 },
    messages: [{ role: 'user', content: [block, question] }],
  });
  const written = await anthropic.messages.create(of({ type: 'text', text }));
  const seen = await anthropic.messages.create(of({ type: 'image', source }));
  assert.equal([seen.content, seen.usage.input_tokens], [written.content, written.usage.input_tokens]);
  const { model, messages } = of({ type: 'image', source });
  const { input_tokens: counted } = await anthropic.messages.countTokens({ model, messages });
  assert.is(counted, written.usage.input_tokens + (written.usage.cache_read_input_tokens ?? 0));
});

Reading('an alias gives images to the model for which they are read, which needs no right to the reader', async () => {
  const keyed = {
    'x-api-key': (await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['model:llm', 'model:tiny'] })).apiKey,
  };
  const body = { ...chat(imageUrl(dataUrl(slide))), model: 'shared' };
  const answer = await at.post('/v1/chat/completions', body, keyed);
  assert.equal([answer.status, answer.headers.get('x-aana-deployment')], [200, 'llm']);
  const image = { type: 'input_image' as const, image_url: dataUrl(slide), detail: 'auto' as const };
  const counted = async (part: typeof image | { type: 'input_text'; text: string }, model: string): Promise<number> =>
    (await client.responses.inputTokens.count({ model, input: [{ role: 'user', content: [part] }] })).input_tokens;
  assert.is(await counted(image, 'shared'), await counted({ type: 'input_text', text }, 'llm'));
  const blind = await at.post('/v1/chat/completions', { ...body, model: 'tiny' }, keyed);
  await refused(blind, 400, 'messages[0].content[0].type', /takes no images.*handles\.ocr names an OcrDeployment/);
});

Reading('nothing is read for a request that is wrong, and texts beyond the context are told', async () => {
  await using image = await at.app.openImage({ path: SLIDE }, { allowPaths: [dirname(SLIDE)] });
  const ask = (more: object, times = 1): Promise<unknown> =>
    at.app.handle('llm').call('chat', {
      dialog: {
        messages: [{ role: 'user', content: Array.from({ length: times }, () => ({ type: 'image', image })) }],
      },
      ...more,
    });
  const wrong = await errorOf(ask({ sampling_params: { temperature: -1 } }), Error);
  assert.match(wrong.message, /^llm\.chat: .*temperature/);
  const long = await errorOf(ask({}, 60), Error);
  assert.is(long.name, 'PromptTooLongException');
});

Reading('the reader must be there, and be able to read', async () => {
  for (const [ocr, message] of [
    ['absent', /deployment blind: handles\.ocr: there is no deployment absent/],
    ['tiny', /handles\.ocr: the deployment tiny is a LlamaTextGenerationDeployment and has no method recognize/],
  ] as const) {
    const started = errorOf(
      startOpenAiApp({
        prepare: (app, tiny) =>
          void app.registerDeployment(
            'blind',
            LlamaTextGenerationDeployment.options({ handles: { ocr }, user_config: { model_id: tiny } }),
          ),
      }),
      Error,
    );
    assert.match((await started).message, message);
  }
  assert.throws(
    () => at.app.registerDeployment('other', OcrDeployment.options({ handles: { ocr: 'ocr' } })),
    /handles\.ocr: OcrDeployment has no handle of this key; its handles are: none/,
  );
});

if (cannotRun !== undefined) skip('texts of images for models that see none', cannotRun);
else Reading.run();
