// Audio in dialogs for a model that hears: a tiny one with random weights, behind a real encoder of audio.
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WINDOW_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { wavOf } from '../../../inference/engines/openai/wav.ts';
import { makeFolder } from '../../../application/fixtures/test-app.ts';
import { muteVideo, speechPath } from '../../../test/helpers/media/media.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { CHAT, jsonl, lineOf } from '../fixtures/batch-inputs.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const MAX_JSON_BYTES = 50_000;
const folder = makeFolder();
const question = { type: 'text', text: 'Once upon a time' };

const Hearing = suite('audio for models that hear');
let at: OpenAiApp;
let client: OpenAI;
let speech = '';

Hearing.before(async () => {
  speech = (await readFile(speechPath())).toString('base64');
  const files = { hearing: writeSeeing(folder, 'ultravox'), seeing: writeSeeing(folder, 'mlp') };
  at = await startOpenAiApp({
    config: { limits: { max_json_bytes: MAX_JSON_BYTES, max_files: 2 } },
    prepare: (app) => {
      for (const [name, { model, mmproj }] of Object.entries(files))
        app.registerDeployment(name, llamaOptions(model, { model_kwargs: { n_ctx: 256, n_threads: 1, mmproj } }));
    },
  });
  client = at.client;
});
Hearing.after(async () => at?.[Symbol.asyncDispose]());

const audio = (data = speech): object => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const chat = (content: unknown, more?: object) => chatOf('hearing', content, more);
const send = (content: unknown, more?: object): Promise<Response> =>
  at.post('/v1/chat/completions', chat(content, more));
function tone(seed: number, samples: number, rate = 16_000): string {
  const file = wavOf(Float32Array.from({ length: samples }, (_, n) => 0.3 * Math.sin(n / seed)));
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(2 * rate, 28);
  return file.toString('base64');
}

Hearing(
  'the model hears the audio itself, without a deployment that transcribes, and its tokens are told',
  async () => {
    assert.ok(speech.length > MAX_JSON_BYTES);
    const first = await client.chat.completions.create(chat([question, audio()]));
    const other = await client.chat.completions.create(chat([question, audio(tone(3, 16_000))]));
    const silent = await client.chat.completions.create(chat([question]));
    const texts = [first, other, silent].map((answer) => answer.choices[0]!.message.content);
    assert.is(new Set(texts).size, 3, texts.join(' | '));
    assert.is(first.usage!.prompt_tokens_details!.audio_tokens, WINDOW_TOKENS);
    assert.is(silent.usage!.prompt_tokens_details!.audio_tokens, undefined);
    const again = await client.chat.completions.create(chat([question, audio()]));
    assert.is(again.choices[0]!.message.content, texts[0]);
    assert.is(again.usage!.prompt_tokens_details!.cached_tokens, first.usage!.prompt_tokens - 1);
    const stream = await client.chat.completions.create({
      ...chat([question, audio()]),
      stream: true,
      stream_options: { include_usage: true },
    });
    let streamed = '';
    let told: number | undefined;
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? '';
      told = chunk.usage?.prompt_tokens_details?.audio_tokens ?? told;
    }
    assert.is(streamed, texts[0]);
    assert.is(told, WINDOW_TOKENS);
  },
);

Hearing('a response hears audio and files of audio, and a stored one is heard again when it goes on', async () => {
  const parts = [
    audio(),
    { type: 'input_file', filename: 'a.flac', file_data: `data:audio/flac;base64,${speech}` },
  ] as OpenAI.Responses.ResponseInputContent[];
  const texts: string[] = [];
  for (const part of parts) {
    const content = [{ type: 'input_text', text: 'Once upon a time' }, part] as typeof parts;
    const first = await client.responses.create({
      model: 'hearing',
      input: [{ role: 'user', content }],
      max_output_tokens: 16,
    });
    texts.push(first.output_text);
    assert.ok(first.usage!.input_tokens > WINDOW_TOKENS);
    const { data } = await client.responses.inputItems.list(first.id);
    const [, kept] = (data[0] as { content: { type: string }[] }).content;
    assert.is(kept!.type, 'input_audio');
    const next = await client.responses.create({
      model: 'hearing',
      input: 'and then',
      previous_response_id: first.id,
      max_output_tokens: 4,
    });
    assert.ok(next.usage!.input_tokens > first.usage!.input_tokens);
    assert.ok(next.usage!.input_tokens_details.cached_tokens > WINDOW_TOKENS);
  }
  assert.is(texts[0], texts[1]);
});

Hearing('a response in the background and a count of tokens hear it, too', async () => {
  const content = [{ type: 'input_text', text: 'Once upon a time' }, audio()];
  const request = {
    ...{ model: 'hearing', input: [{ role: 'user', content }], max_output_tokens: 8, temperature: 0 },
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
  const waited = await client.responses.create(request);
  const { id } = await client.responses.create({ ...request, background: true });
  let made!: OpenAI.Responses.Response;
  await until(async () => {
    made = await client.responses.retrieve(id);
    return made.status !== 'queued' && made.status !== 'in_progress';
  });
  assert.equal([made.output_text, made.usage!.input_tokens], [waited.output_text, waited.usage!.input_tokens]);
  const counted = await client.responses.inputTokens.count({ model: 'hearing', input: request.input! });
  assert.is(counted.input_tokens, waited.usage!.input_tokens);
});

Hearing('audio that cannot be read is refused with its place', async () => {
  const param = 'messages[0].content[0].input_audio.data';
  for (const data of ['', 'not base64!']) await refused(await send([audio(data)]), 400, param, /not the base64/);
  await refused(await send([audio(Buffer.from('words').toString('base64'))]), 400, param, /./);
  await refused(await send([audio(Buffer.from(await muteVideo()).toString('base64'))]), 400, param, /no audio track/);
  await refused(await send([audio(tone(3, 0))]), 400, null, /./);
  const third = 'messages[0].content[2].input_audio.data';
  await refused(await send([audio(), audio(), audio()]), 400, third, /may have 2 parts with audio/);
  await refused(await send([audio(tone(3, 1000 * 60 * 10, 1000))]), 400, 'messages', /context holds 256/);
  assert.is((await send([audio(tone(3, 1)), question])).status, 200);
  assert.is((await send([audio(tone(3, 44_100, 44_100)), question])).status, 200);
});

Hearing('audio that is much too long is refused before its samples are read', async () => {
  await using opened = await at.app.openAudio({ path: speechPath() }, { allowPaths: [dirname(speechPath())] });
  const [channel] = opened.channels;
  const long = { channels: [{ ...channel!, samples: 4 * 3600 * 16_000 }], sample_rate: 16_000 };
  const lasting = (windows: number) => ({ ...long, channels: [{ ...channel!, samples: windows * 30 * 16_000 }] });
  const whenHeard = (...sounds: readonly (typeof long)[]): Promise<string> => {
    const content = sounds.map((sound) => ({ type: 'audio', audio: sound }));
    const call = at.app.handle('hearing').call('chat', { dialog: { messages: [{ role: 'user', content }] } });
    return call.then(() => 'an answer', String);
  };
  // The encoder makes 15 tokens of a window, of which one may be due to rounding.
  for (const sounds of [[long], [lasting(19)], [lasting(10), lasting(9)]])
    assert.match(
      await whenHeard(...sounds),
      /^PromptTooLong.* s of audio, which is more than \d+ tokens, the context holds 256$/,
    );
  // The file is shorter than this, so it was looked at.
  assert.not.match(await whenHeard(lasting(18)), /^PromptTooLong|^an answer/);
});

Hearing('a model that only sees hears nothing, and what cannot wait hears nothing', async () => {
  const blind = await at.post('/v1/chat/completions', chatOf('seeing', [audio(tone(3, 16_000))]));
  await refused(blind, 400, 'messages[0].content[0].type', /not transcribed here/);
  const call = at.app.handle('seeing').call('chat', {
    dialog: {
      messages: [{ role: 'user', content: [{ type: 'audio', audio: { channels: [], sample_rate: 16_000 } }] }],
    },
  });
  assert.is(await call.catch((error: Error) => error.name), 'AudioNotSupported');
  const tokens = await at.post('/tokenize', { model: 'hearing', messages: [{ role: 'user', content: [audio()] }] });
  assert.is.not(tokens.status, 200);
});

Hearing('requests of a batch are heard like others', async () => {
  const heard = chat([question, audio(tone(3, 4000))]);
  const alone = await client.chat.completions.create(heard);
  const lines = [lineOf('heard', heard), lineOf('unreadable', chat([audio('AAAA')]))];
  const file = await client.files.create({ file: new File([jsonl(lines)], 'batch.jsonl'), purpose: 'batch' });
  const { id } = await client.batches.create({ input_file_id: file.id, endpoint: CHAT, completion_window: '24h' });
  let batch = await client.batches.retrieve(id);
  await until(async () => (batch = await client.batches.retrieve(id)).status === 'completed');
  const read = async (file_id: string): Promise<{ custom_id: string; response: { body: unknown } }> =>
    JSON.parse(await (await client.files.content(file_id)).text());
  const answer = (await read(batch.output_file_id!)).response.body as OpenAI.ChatCompletion;
  assert.is(answer.choices[0]!.message.content, alone.choices[0]!.message.content);
  assert.is(answer.usage!.prompt_tokens_details!.audio_tokens, WINDOW_TOKENS);
  const { response } = await read(batch.error_file_id!);
  assert.match(JSON.stringify(response.body), /messages\[0\]\.content\[0\]\.input_audio\.data/);
});

Hearing('clients that leave end the work for their audio', async () => {
  for (let round = 0; round < 2; round += 1) {
    const leaving = new AbortController();
    const left = client.chat.completions.create(chat([audio()]), { signal: leaving.signal }).catch(() => {});
    setTimeout(() => leaving.abort(), 30 * round);
    await left;
  }
  assert.is((await send([question])).status, 200);
});

if (cannotRun !== undefined) skip('audio for models that hear', cannotRun);
else Hearing.run();
