// Raw answers of the routes below /v1, checked strictly by the models of OpenAI's package for Python.
import { readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun, readWav } from '../../inference/engines/fixtures/cannot-run.ts';
import { LlamaEmbeddingDeployment, SpeakerDiarizationDeployment } from 'aana-host';
import { speechPath } from '../../test/helpers/media/media.ts';
import { testModel } from '../../test/helpers/models.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { realtimePcm } from './realtime/fixtures/realtime-client.ts';
import { SocketClient } from '../http/sockets/fixtures/socket-client.ts';
import { type AudioApp, startAudioApp } from './fixtures/audio-app.ts';
import { jsonl, lineOf } from './fixtures/batch-inputs.ts';
import { type Answers, openAiEvents, PythonModels } from './fixtures/python-models.ts';

const Models = suite('answers for OpenAI’s package for Python');
let at: AudioApp;
let python: PythonModels;
let speech: Blob;

Models.before(async () => {
  const embedder = await testModel('all-minilm-l6-v2');
  speech = new Blob([await readFile(speechPath())]);
  at = await startAudioApp({
    prepare: (app) => {
      const user_config = { model_id: embedder, model_kwargs: { n_threads: 1, n_ctx: 256 } };
      app.registerDeployment('minilm', LlamaEmbeddingDeployment.options({ user_config }));
      app.registerDeployment('speakers', SpeakerDiarizationDeployment.options({ user_config: { threads: 1 } }));
    },
  });
});
Models.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await python[Symbol.asyncDispose]();
});

const check = (...answers: Answers): Promise<void> => python.check(...answers);

const post = async (path: string, body: object): Promise<string> => (await at.post(path, body)).text();

async function upload(route: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'asr', ...fields })) form.append(name, value);
  form.append('file', speech, 'speech.flac');
  return (await fetch(`${at.url}/v1/audio/${route}`, { method: 'POST', body: form })).text();
}

const DIALOG = { model: 'tiny', messages: [{ role: 'user', content: 'Once' }], max_tokens: 4 };
const PROMPT = { model: 'tiny', prompt: 'Once', max_tokens: 4, logprobs: 2 };

Models('are valid for dialogs and texts', async () => {
  const streamed = { stream: true, stream_options: { include_usage: true } };
  const scores = { logprobs: true, top_logprobs: 2 };
  await check(
    ['chat.ChatCompletion', await post('/v1/chat/completions', { ...DIALOG, ...scores })],
    [
      'chat.ChatCompletionChunk',
      ...openAiEvents(await post('/v1/chat/completions', { ...DIALOG, ...scores, ...streamed, n: 2, temperature: 1 })),
    ],
    // With `logprobs` the first token of the prompt has null, as OpenAI answers, which the types do not allow.
    ['Completion', await post('/v1/completions', { ...PROMPT, echo: true, logprobs: null })],
    ['Completion', await post('/v1/completions', PROMPT)],
    // Events before the end have no `finish_reason`, as in OpenAI's streams, which the types do not allow.
    ['Completion', ...openAiEvents(await post('/v1/completions', { ...PROMPT, ...streamed })).slice(-2)],
  );
});

Models('are valid for embeddings and names of models', async () => {
  const { data } = (await (await fetch(`${at.url}/v1/models`)).json()) as { data: object[] };
  await check(
    ['CreateEmbeddingResponse', await post('/v1/embeddings', { model: 'minilm', input: ['a', 'b'] })],
    ['Model', ...data.map((model) => JSON.stringify(model))],
  );
});

Models('are valid for audio', async () => {
  const words = { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' };
  const speakers = { response_format: 'diarized_json' };
  const stream = { stream: 'true' };
  await check(
    ['audio.Transcription', await upload('transcriptions')],
    ['audio.TranscriptionVerbose', await upload('transcriptions', words)],
    ['audio.TranscriptionVerbose', await upload('transcriptions', { response_format: 'verbose_json' })],
    ['audio.TranscriptionDiarized', await upload('transcriptions', speakers)],
    ['audio.TranscriptionStreamEvent', ...openAiEvents(await upload('transcriptions', stream))],
    ['audio.TranscriptionStreamEvent', ...openAiEvents(await upload('transcriptions', { ...speakers, ...stream }))],
  );
});

Models('are valid for transcription sessions', async () => {
  const [samples] = await readWav(speechPath());
  const audio = realtimePcm(samples!.subarray(0, 64_000)).toString('base64');
  const input = { turn_detection: null, transcription: { language: 'klingon' } };
  const client = await SocketClient.open(`${at.url.replace('http', 'ws')}/v1/realtime?model=asr`);
  for (const event of [
    { type: 'input_audio_buffer.append', audio },
    { type: 'input_audio_buffer.commit' },
    { type: 'input_audio_buffer.clear' },
    { type: 'response.create' },
    { type: 'session.update', session: { type: 'transcription', audio: { input } } },
    { type: 'input_audio_buffer.append', audio },
  ])
    client.socket.send(JSON.stringify(event));
  for (let at = 0; !(await client.message(at)).type.endsWith('.failed'); at += 1);
  client.socket.terminate();
  assert.is(new Set(client.messages.map(({ type }) => type)).size, 12, 'the kinds of events');
  await check(['realtime.RealtimeServerEvent', ...client.messages.map((message) => JSON.stringify(message))]);
});

const get = async (path: string): Promise<string> => (await fetch(at.url + path)).text();

async function storedFile(content: string): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('expires_after[anchor]', 'created_at');
  form.append('expires_after[seconds]', '3600');
  form.append('file', new Blob([content]), 'requests.jsonl');
  return (await fetch(`${at.url}/v1/files`, { method: 'POST', body: form })).text();
}

/** Creates a batch of a file. Returns its first state, what `change` answers, and its last state. */
async function batchOf(
  content: string,
  change: (id: string) => Promise<string[]> = async () => [],
): Promise<readonly string[]> {
  const request = { endpoint: '/v1/chat/completions', completion_window: '24h', metadata: { topic: 'tales' } };
  const made = await post('/v1/batches', { ...request, input_file_id: idOf(await storedFile(content)) });
  const changed = await change(idOf(made));
  let last = '';
  await until(async () => {
    last = await get(`/v1/batches/${idOf(made)}`);
    return /"status":"(completed|failed|cancelled)"/.test(last);
  });
  return [made, ...changed, last];
}

const idOf = (json: string): string => (JSON.parse(json) as { id: string }).id;

const partsOf = (list: string): string[] =>
  (JSON.parse(list) as { data: object[] }).data.map((one) => JSON.stringify(one));

Models('are valid for files and batches', async () => {
  const file = await storedFile('{}');
  const lines = [lineOf('good', DIALOG), lineOf('wrong', { ...DIALOG, temperature: 7 })];
  const answered = await batchOf(jsonl(lines));
  const refused = await batchOf('no JSON\n');
  const many = jsonl(Array.from({ length: 200 }, (_, n) => lineOf(`line-${n}`, { ...DIALOG, max_tokens: 40 })));
  const cancelled = await batchOf(many, async (id) => [await post(`/v1/batches/${id}/cancel`, {})]);
  assert.equal(
    [answered, refused, cancelled].map((states) => (JSON.parse(states.at(-1)!) as { status: string }).status),
    ['completed', 'failed', 'cancelled'],
  );
  const { output_file_id: output } = JSON.parse(answered.at(-1)!) as { output_file_id: string };
  const { response } = JSON.parse(await get(`/v1/files/${output}/content`)) as { response: { body: object } };
  const [files, batches] = [partsOf(await get('/v1/files')), partsOf(await get('/v1/batches'))];
  assert.is(batches.length, 3);
  await check(
    ['FileObject', file, await get(`/v1/files/${idOf(file)}`), ...files],
    ['Batch', ...answered, ...refused, ...cancelled, ...batches],
    ['chat.ChatCompletion', JSON.stringify(response.body)],
    ['FileDeleted', await (await fetch(`${at.url}/v1/files/${idOf(file)}`, { method: 'DELETE' })).text()],
  );
});

Models('are valid for failures', async () => {
  const failures = [
    await post('/v1/chat/completions', { ...DIALOG, model: 'none' }),
    await post('/v1/completions', { ...PROMPT, max_tokens: -1 }),
    await post('/v1/embeddings', {}),
    await post('/v1/nothing', {}),
    await upload('transcriptions', { language: 'klingon' }),
    await upload('translations'),
  ];
  const errors = failures.map((failure) => (JSON.parse(failure) as { error: object }).error);
  await check(['shared.ErrorObject', ...errors.map((error) => JSON.stringify(error))]);
});

const installed = cannotRun === undefined ? await PythonModels.start() : undefined;
if (installed === undefined) {
  skip('answers for OpenAI’s package for Python', cannotRun ?? 'pip cannot install openai for Python');
} else {
  python = installed;
  Models.run();
}
