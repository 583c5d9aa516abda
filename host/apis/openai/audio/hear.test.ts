// Audio and images in dialogs with the official client against real models: audio becomes its transcript, and no
// address of an image is ever opened.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { muteVideo, SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { eventually } from '../../http/fixtures/eventually.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { startOpenAiApp } from '../fixtures/openai-app.ts';

const MAX_JSON_BYTES = 50_000;
const MAX_AUDIO_BYTES = 2_000_000;

const Dialogs = suite('audio and images in dialogs');
let at: AudioApp;
let client: OpenAI;
let speech = '';

Dialogs.before(async () => {
  speech = (await readFile(speechPath())).toString('base64');
  assert.ok(speech.length > MAX_JSON_BYTES);
  at = await startAudioApp({
    config: {
      openai: { audio_input: { deployment: 'asr', max_bytes: MAX_AUDIO_BYTES } },
      limits: { max_json_bytes: MAX_JSON_BYTES, max_files: 2, stream_keep_alive_s: 0.05 },
      api_service: { enabled: true },
    },
  });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  client = at.client.withOptions({ apiKey });
});
Dialogs.after(async () => at?.[Symbol.asyncDispose]());
Dialogs.after.each(() => eventually(() => at.leftovers().length === 0, 'the files of the request are gone'));

const audio = (data = speech): object => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const chat = (content: unknown, more?: object) => chatOf('tiny', content, more);
const question = { type: 'text', text: 'What was said?' };

/** Sends a request as the user, or with another key. */
const post = (path: string, body: unknown, key = client.apiKey): Promise<Response> =>
  at.post(path, body, { 'x-api-key': key! });

Dialogs('a chat with audio is the chat with its transcript in the place of the audio', async () => {
  const transcript = await client.audio.transcriptions.create({
    file: new File([await readFile(speechPath())], 'a.flac'),
    model: 'asr',
  });
  assert.is(wordErrors(SAMPLE_TEXT, transcript.text), 0);
  const written = await client.chat.completions.create(chat([question, { type: 'text', text: transcript.text }]));
  const spoken = await client.chat.completions.create(chat([question, audio()]));
  assert.equal(spoken.choices[0]!.message.content, written.choices[0]!.message.content);
  assert.is(spoken.usage!.prompt_tokens, written.usage!.prompt_tokens);
  assert.ok(spoken.usage!.prompt_tokens > 30);
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ ...chat([question, audio()]), stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  assert.is(streamed, written.choices[0]!.message.content);
});

Dialogs('a response takes audio as audio and as a file, and is stored with the transcript', async () => {
  const lines = `data:audio/flac;base64,${speech.replaceAll(/.{76}/g, '$&\n')}`;
  const parts = [
    audio(lines),
    { type: 'input_file', filename: 'a.flac', file_data: `data:audio/flac;base64,${speech}` },
  ];
  for (const part of parts) {
    const content = [{ type: 'input_text', text: 'What was said?' }, part] as OpenAI.Responses.ResponseInputContent[];
    const first = await client.responses.create({
      model: 'tiny',
      input: [{ role: 'user', content }],
      max_output_tokens: 16,
    });
    const { data } = await client.responses.inputItems.list(first.id);
    const [, heard] = (data[0] as { content: { type: string; text: string }[] }).content;
    assert.is(heard!.type, 'input_text');
    assert.is(wordErrors(SAMPLE_TEXT, heard!.text), 0);
    const next = await client.responses.create({
      model: 'tiny',
      input: 'And then?',
      previous_response_id: first.id,
      max_output_tokens: 16,
    });
    assert.ok(next.usage!.input_tokens > first.usage!.input_tokens);
  }
});

Dialogs('streams show that they are alive while their audio is transcribed', async () => {
  const input = [{ role: 'user', content: [audio()] }];
  const streams = {
    '/v1/chat/completions': chat([audio()], { stream: true }),
    '/v1/responses': { model: 'tiny', input, max_output_tokens: 16, stream: true },
  };
  for (const [path, body] of Object.entries(streams)) {
    const text = await (await post(path, body)).text();
    const first = path === '/v1/responses' ? 'event: response.created\n' : ': \n\n';
    assert.ok(text.startsWith(first), text.slice(0, 200));
    assert.match(text, path === '/v1/responses' ? 'response.incomplete' : '[DONE]');
  }
});

Dialogs('audio that cannot be heard is refused with its place', async () => {
  const send = (content: unknown, more?: object): Promise<Response> =>
    post('/v1/chat/completions', chat(content, more));
  const param = 'messages[0].content[0].input_audio.data';
  for (const data of ['', 'not base64!', 'data:audio/wav;base64,AAA!'])
    await refused(await send([audio(data)]), 400, param, /not the base64 of a file/);
  await refused(await send([audio(Buffer.from('words').toString('base64'))]), 400, param, /./);
  await refused(await send([audio(Buffer.from(await muteVideo()).toString('base64'))]), 400, param, /no audio track/);
  const third = 'messages[0].content[2].input_audio.data';
  await refused(await send([audio(), audio(), audio()]), 400, third, /may have 2 parts with audio/);
  const large = 'A'.repeat(4 * Math.ceil(MAX_AUDIO_BYTES / 3));
  await refused(await send([audio(`${large}AAAA`)]), 413, null, /too large/);
  await refused(await send([{ type: 'text', text: 'x'.repeat(60_000) }]), 413, null, /limit is 50000 bytes/);
  await refused(await send([audio()], { logprobs: false, top_logprobs: 3 }), 400, 'top_logprobs', /logprobs/);
  const assistant = { messages: [{ role: 'assistant', content: [audio()] }] };
  await refused(await send('', assistant), 400, 'messages[0].content[0].type', /only messages of the user/);
  const document = { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA' };
  const response = await post('/v1/responses', { model: 'tiny', input: [{ role: 'user', content: [document] }] });
  await refused(response, 400, 'input[0].content[0].file_data', /no text in UTF-8/);
  const leaving = new AbortController();
  const left = client.chat.completions.create(chat([audio()]), { signal: leaving.signal }).catch(() => {});
  await eventually(() => at.leftovers('file').length > 0, 'the audio is on the disk');
  leaving.abort();
  await left;
});

Dialogs('a key for a model needs the deployment that transcribes, too', async () => {
  const keyFor = async (...scopes: string[]): Promise<string> =>
    (await at.app.apiKeys!.create({ user_id: 'bob', scopes })).apiKey;
  const body = chat([audio()]);
  const deaf = await post('/v1/chat/completions', body, await keyFor('model:tiny'));
  await refused(deaf, 403, null, /does not allow the deployment asr/);
  const both = await post('/v1/chat/completions', body, await keyFor('model:tiny', 'model:asr'));
  assert.is(both.status, 200);
});

Dialogs('without the setting, audio is refused with the setting that it needs', async () => {
  await using off = await startOpenAiApp();
  const message = /set openai\.audio_input\.deployment/;
  const chatted = await off.post('/v1/chat/completions', chat([question, audio('AAAA')]));
  await refused(chatted, 400, 'messages[0].content[1].type', message);
  const input = [{ role: 'user', content: [audio('AAAA')] }];
  await refused(await off.post('/v1/responses', { model: 'tiny', input }), 400, 'input[0].content[0].type', message);
  await refused(await off.post('/v1/chat/completions', chat([audio('A'.repeat(5_000_000))])), 413, null, /too large/);
});

Dialogs('images are refused with their place, and their addresses are never opened', async () => {
  let connections = 0;
  const site = createServer((_req, res) => res.end()).on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/a.png`;
  const message = /the model takes no (images|content of the type )/;
  const chatted = await post('/v1/chat/completions', chat([question, { type: 'image_url', image_url: { url } }]));
  await refused(chatted, 400, 'messages[0].content[1].type', message);
  for (const part of [
    { type: 'input_image', image_url: url },
    { type: 'input_file', file_url: url },
  ]) {
    const response = await post('/v1/responses', { model: 'tiny', input: [{ role: 'user', content: [part] }] });
    await refused(response, 400, 'input[0].content[0].type', message);
  }
  const source = { type: 'url', url };
  const messages = [{ role: 'user', content: [{ type: 'image', source }] }];
  const anthropic = await post('/v1/messages', { model: 'tiny', max_tokens: 2, messages });
  assert.is(anthropic.status, 400);
  assert.match(await anthropic.text(), /'messages\[0\]\.content\[0\]\.type': the model takes no images/);
  site.close();
  assert.is(connections, 0);
});

if (cannotRun !== undefined) skip('audio and images in dialogs', cannotRun);
else Dialogs.run();
