// Raw responses, calls of tools, uploads and translations, checked strictly by the models of OpenAI's package for
// Python.
import { readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { THINKING_TEMPLATE } from '../../../inference/engines/fixtures/thinking-template.ts';
import { WhisperDeployment } from 'aana-host';
import { ModelStore } from '../../../setup/models/index.ts';
import { ffmpegPath, speechPath } from '../../../test/helpers/media/media.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from '../fixtures/openai-app.ts';
import { postForm } from '../fixtures/parameter-samples.ts';
import { type Answers, openAiEvents, PythonModels } from '../fixtures/python-models.ts';

const Models = suite('responses for OpenAI’s package for Python');
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger, offline: true });
const canTranslate = cannotRun === undefined && (await store.resolve('whisper-base:q8_0')) !== undefined;
let at: OpenAiApp;
let python: PythonModels;

Models.before(async () => {
  const smol = await testModel('smollm2-135m-instruct');
  const thinking = { n_ctx: 512, n_threads: 1, n_seq_max: 1, chat_template: THINKING_TEMPLATE };
  at = await startOpenAiApp({
    config: { media: { ffmpeg_path: ffmpegPath() } },
    prepare: (app, tiny) => {
      app.registerDeployment('thinker', llamaOptions(smol, { model_kwargs: thinking }));
      registerEndless(app, tiny);
      if (canTranslate)
        app.registerDeployment(
          'many',
          WhisperDeployment.options({ user_config: { model_size: 'base', compute_type: 'q8_0', threads: 1 } }),
        );
    },
  });
});
Models.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await python[Symbol.asyncDispose]();
});

const check = (...answers: Answers): Promise<void> => python.check(...answers);
const post = async (path: string, body: object): Promise<string> => (await at.post(path, body)).text();
const ask = async (path: string, method = 'GET'): Promise<string> => (await fetch(at.url + path, { method })).text();
const idOf = (json: string): string => (JSON.parse(json) as { id: string }).id;
/** Returns the text of each event of a streamed response. */
const eventsOf = (stream: string): string[] => [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data);

const RESPONSE = 'responses.Response';
const EVENT = 'responses.ResponseStreamEvent';
const TALE = { model: 'tiny', input: 'Once', max_output_tokens: 4 };
const PARAMETERS = {
  type: 'object',
  properties: { city: { enum: ['Paris', 'Rome'] } },
  required: ['city'],
  additionalProperties: false,
};
const TOOL = { type: 'function', name: 'get_weather', description: 'Tells the weather', parameters: PARAMETERS };
const CALL = { ...TALE, max_output_tokens: 60, tools: [TOOL], tool_choice: 'required' };
const THOUGHT = { ...TALE, model: 'thinker', max_output_tokens: 8, temperature: 0, reasoning: { effort: 'low' } };
const SCORES = { include: ['message.output_text.logprobs'], top_logprobs: 2 };
const FORMAT = { type: 'json_schema', name: 'place', schema: PARAMETERS, strict: true };

Models('are valid for all kinds of items, whole and in events', async () => {
  const requests = [
    TALE,
    { ...TALE, ...SCORES, metadata: { a: 'b' }, user: 'u', temperature: 0.5, top_p: 0.9, instructions: 'Be brief.' },
    { ...TALE, max_output_tokens: 60, text: { format: FORMAT }, truncation: 'auto', store: false },
    CALL,
    { ...CALL, tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: false },
    {
      ...CALL,
      tools: [
        { ...TOOL, strict: true },
        { type: 'function', name: 'f' },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_weather' }],
      },
    },
    THOUGHT,
  ];
  for (const request of requests) {
    const events = eventsOf(await post('/v1/responses', { ...request, stream: true }));
    await check([RESPONSE, await post('/v1/responses', request)], [EVENT, ...events]);
    assert.ok(events.length > 5);
  }
});

Models('are valid for what is stored of a response', async () => {
  const called = await post('/v1/responses', CALL);
  const { output } = JSON.parse(called) as { output: { type: string; call_id: string }[] };
  const calls = output.filter(({ type }) => type === 'function_call');
  const answers = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'sunny' }));
  const developer = { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] };
  const next = await post('/v1/responses', {
    ...TALE,
    previous_response_id: idOf(called),
    input: [developer, { role: 'user', content: 'And?' }, ...answers],
  });
  const whole = await post('/v1/responses', {
    ...TALE,
    input: [
      { role: 'user', content: 'Weather?' },
      ...output,
      ...answers,
      { role: 'assistant', content: 'Sunny.' },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] },
    ],
  });
  const lists = await Promise.all(
    [called, next, whole].map((response) => ask(`/v1/responses/${idOf(response)}/input_items`)),
  );
  await check(
    [RESPONSE, next, whole, await ask(`/v1/responses/${idOf(next)}`)],
    ['responses.ResponseItemList', ...lists],
    ['responses.InputTokenCountResponse', await post('/v1/responses/input_tokens', { model: 'tiny', input: 'Once' })],
  );
  const deleted = await ask(`/v1/responses/${idOf(whole)}`, 'DELETE');
  assert.is((JSON.parse(deleted) as { deleted: boolean }).deleted, true);
});

Models('are valid for responses in the background', async () => {
  const made = await post('/v1/responses', { ...TALE, background: true });
  let ended = '';
  await until(async () => {
    ended = await ask(`/v1/responses/${idOf(made)}`);
    return ended.includes('"status":"incomplete"');
  });
  const endless = { model: 'endless', input: 'a', max_output_tokens: 100_000_000, overflow: 'shift', background: true };
  const running = await post('/v1/responses', endless);
  const cancelled = await post(`/v1/responses/${idOf(running)}/cancel`, {});
  assert.match(cancelled, '"status":"cancelled"');
  const events = eventsOf(await post('/v1/responses', { ...TALE, background: true, stream: true }));
  await check([RESPONSE, made, ended, running, cancelled], [EVENT, ...events]);
});

Models('are valid for failed responses', async () => {
  await using short = await startOpenAiApp({
    config: { limits: { invocation_timeout_s: 6 } },
    prepare: registerEndless,
  });
  const request = { model: 'endless', input: 'a', max_output_tokens: 100_000_000, overflow: 'shift', stream: true };
  const events = eventsOf(await (await short.post('/v1/responses', request)).text());
  assert.match(events.at(-1)!, '"type":"response.failed"');
  await check([EVENT, ...events.slice(0, 8), events.at(-1)!]);
});

Models('are valid for calls and structured answers of chats', async () => {
  const dialog = { model: 'tiny', messages: [{ role: 'user', content: 'Weather?' }], max_tokens: 60 };
  const { type, ...tool } = TOOL;
  const calls = { ...dialog, tools: [{ type, function: tool }], tool_choice: 'required' };
  const structured = {
    ...dialog,
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema: PARAMETERS, strict: true } },
  };
  const thought = { ...dialog, model: 'thinker', max_tokens: 8 };
  const requests = [calls, { ...calls, parallel_tool_calls: true }, structured, thought];
  const streamed = { stream: true, stream_options: { include_usage: true } };
  for (const request of requests)
    await check(
      ['chat.ChatCompletion', await post('/v1/chat/completions', request)],
      ['chat.ChatCompletionChunk', ...openAiEvents(await post('/v1/chat/completions', { ...request, ...streamed }))],
    );
});

Models('are valid for uploads', async () => {
  const expires_after = { anchor: 'created_at', seconds: 3600 };
  const request = { bytes: 3, filename: 'a.txt', purpose: 'user_data', mime_type: 'text/plain', expires_after };
  const upload = await post('/v1/uploads', request);
  const part = await (await postForm(`${at.url}/v1/uploads/${idOf(upload)}/parts`, 'data', 'abc', [])).text();
  const completed = await post(`/v1/uploads/${idOf(upload)}/complete`, { part_ids: [idOf(part)] });
  const other = idOf(await post('/v1/uploads', request));
  const cancelled = await post(`/v1/uploads/${other}/cancel`, {});
  assert.match(cancelled, '"status":"cancelled"');
  await check(['Upload', upload, completed, cancelled], ['uploads.UploadPart', part]);
});

if (canTranslate)
  Models('are valid for translations', async () => {
    const speech = await readFile(speechPath());
    const translate = async (format: string): Promise<string> => {
      const texts: [string, string][] = [
        ['model', 'many'],
        ['response_format', format],
      ];
      return (await postForm(`${at.url}/v1/audio/translations`, 'file', Buffer.from(speech), texts)).text();
    };
    await check(
      ['audio.Translation', await translate('json')],
      ['audio.TranslationVerbose', await translate('verbose_json')],
    );
  });
else skip('translations for OpenAI’s package for Python', cannotRun ?? 'the model whisper-base is not on this machine');

const installed = cannotRun === undefined ? await PythonModels.start() : undefined;
if (installed === undefined) {
  skip('responses for OpenAI’s package for Python', cannotRun ?? 'pip cannot install openai for Python');
} else {
  python = installed;
  Models.run();
}
