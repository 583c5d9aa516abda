// Uploads of audio that nobody should send: each gets a clear 4xx, leaves no file, and the server goes on.
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath, longSpeech, muteVideo, SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrors, words } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { connected, exchange, head } from '../../http/fixtures/raw-exchange.ts';
import { eventually } from '../../http/fixtures/eventually.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';
import { silence } from '../fixtures/silence.ts';

const Hostile = suite('hostile uploads of audio');
const PATH = '/v1/audio/transcriptions';
const MAX_FILE_BYTES = 4_000_000;
const MAX_DURATION_S = 600;
let at: AudioApp;
let folder: string;
let speech: Blob;

Hostile.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-hostile-'));
  speech = new Blob([await readFile(speechPath())]);
  at = await startAudioApp({
    config: {
      limits: { max_file_bytes: MAX_FILE_BYTES, max_json_bytes: 100_000 },
      media: { max_duration_s: MAX_DURATION_S },
    },
  });
});
Hostile.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
Hostile.after.each(async () => {
  await eventually(() => at.leftovers().length === 0, 'the files of the request are gone');
  assert.is((await fetch(`${at.url}/v1/models`)).status, 200, 'the server answers the next request');
});

type Part = readonly [name: string, value: string | Blob, filename?: string];
const MODEL: Part = ['model', 'asr'];
const file = (content: Blob | string | Uint8Array, name = 'a.wav'): Part => [
  'file',
  new Blob([content as Uint8Array<ArrayBuffer>]),
  name,
];

function send(parts: readonly Part[], path = PATH, signal?: AbortSignal): Promise<Response> {
  const form = new FormData();
  for (const [name, value, filename] of parts)
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename);
  return fetch(at.url + path, { method: 'POST', body: form, ...(signal && { signal }) });
}

async function check(response: Response, status: number, param: string | null, message: RegExp): Promise<void> {
  const text = await response.text();
  assert.is(response.status, status, text);
  const { error } = JSON.parse(text) as { error: { type: string; param: string | null; message: string } };
  assert.equal([error.type, error.param], ['invalid_request_error', param], text);
  assert.match(error.message, message);
}

Hostile('forms without one file are refused', async () => {
  await check(await send([MODEL]), 400, 'file', /required/i);
  await check(await send([]), 400, 'file', /./);
  await check(await send([MODEL, file(speech), file(speech)]), 400, 'file', /More than one part/);
  await check(await send([MODEL, file(speech), ['other', new Blob(['x']), 'x.bin']]), 400, 'other', /only file/);
  await check(await send([MODEL, ['file', 'speech.wav']]), 400, 'file', /it is a text/);
  await check(await send([file(speech)]), 400, 'model', /required/i);
  await check(await send([MODEL, MODEL, file(speech)]), 400, 'model', /more than one part/);
});

Hostile('files that are no audio are refused', async () => {
  await check(await send([MODEL, file('')]), 400, 'file', /./);
  await check(await send([MODEL, file('This is not audio.'.repeat(100), 'a.txt')]), 400, 'file', /./);
  await check(await send([MODEL, file(new Uint8Array(50_000).fill(255), 'a.mp3')]), 400, 'file', /./);
  await check(await send([MODEL, file(await muteVideo(), 'a.mp4')]), 400, 'file', /no audio track/);
  await check(await send([MODEL, file(await muteVideo(), 'a.mp4')], '/v1/audio/translations'), 400, 'file', /track/);
  const stream: Part = ['stream', 'true'];
  await check(await send([MODEL, stream, file('This is not audio.')]), 400, 'file', /./);
});

/** Makes a file with the speech sample by these arguments of ffmpeg. */
const made = async (name: string, ...args: readonly string[]): Promise<Uint8Array> =>
  await readFile(await makeMedia(ffmpegPath(), join(folder, name), '-i', speechPath(), ...args));

Hostile('a file of 15 minutes is refused where the server takes ten, before it is decoded', async () => {
  const silent = ['-f', 'lavfi', '-i', 'anullsrc=r=16000:cl=mono', '-t', '900'];
  const opus = ['-c:a', 'libopus', '-b:a', '6k', '-frame_duration', '120', '-compression_level', '0'];
  const path = await makeMedia(ffmpegPath(), join(folder, '15-minutes.webm'), ...silent, ...opus);
  const content = await readFile(path);
  assert.ok(content.length < MAX_FILE_BYTES, `${content.length} bytes`);
  for (const more of [[], [['stream', 'true'] as const]])
    await check(await send([MODEL, ...more, file(content, 'a.webm')]), 413, 'file', /900.* 600|600.* 900/);
});

for (const [what, name, ...args] of [
  ['eight channels', 'a.flac', '-af', 'pan=7.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0|c6=c0|c7=c0'],
  ['speech in one of eight channels', 'b.flac', '-af', 'pan=7.1|c2=c0'],
  ['eight channels in a container of videos', 'a.mkv', '-af', 'pan=7.1|c4=c0', '-c:a', 'aac'],
] as const)
  Hostile(`${what} are heard`, async () => {
    const { text } = (await (await send([MODEL, file(await made(name, ...args), name)])).json()) as { text: string };
    assert.ok(wordErrors(SAMPLE_TEXT, text) <= 1, text);
  });

Hostile('containers that end early are heard up to there, or refused', async () => {
  for (const [name, ...args] of [
    ['a.webm', '-c:a', 'libopus', '-b:a', '24k'],
    ['b.mp4', '-c:a', 'aac', '-movflags', '+faststart'],
    ['c.ogg', '-c:a', 'libopus'],
    ['d.wav'],
  ] as const) {
    const whole = await made(name, ...args);
    const response = await send([MODEL, file(whole.subarray(0, Math.ceil(whole.length * 0.6)), name)]);
    const answer = await response.text();
    assert.is(response.status, 200, `${name}: ${answer}`);
    const { text } = JSON.parse(answer) as { text: string };
    // The first six of eleven seconds.
    assert.match(text, /fellow Americans/i, name);
    assert.ok(words(text).length < words(SAMPLE_TEXT).length, `${name}: ${text}`);
    await check(await send([MODEL, file(whole.subarray(0, 30), name)]), 400, 'file', /./);
  }
  const indexAtEnd = await made('e.mp4', '-c:a', 'aac');
  await check(await send([MODEL, file(indexAtEnd.subarray(0, indexAtEnd.length / 2), 'e.mp4')]), 400, 'file', /./);
});

Hostile('10 ms and silence have an empty text', async () => {
  for (const samples of [160, 32_000]) {
    const response = await send([MODEL, file(silence(samples))]);
    const seconds = Math.ceil(samples / 16_000);
    assert.equal(await response.json(), { text: '', usage: { type: 'duration', seconds } });
  }
  const words: Part[] = [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'word'],
  ];
  const verbose = (await (await send([MODEL, ...words, file(silence(160))])).json()) as Record<string, unknown>;
  assert.equal([verbose['text'], verbose['words'], verbose['language']], ['', [], 'silence']);
  const events = await (await send([MODEL, ['stream', 'true'], file(silence(160))])).text();
  assert.is(events, 'data: {"type":"transcript.text.done","text":""}\n\ndata: [DONE]\n\n');
});

Hostile('too much is refused while it comes', async () => {
  await check(await send([MODEL, file(new Uint8Array(MAX_FILE_BYTES + 1))]), 413, null, /limit is 4000000 bytes/);
  await check(await send([MODEL, ['prompt', 'x'.repeat(200_000)], file(speech)]), 413, null, /fields/);
  const many = Array.from({ length: 100 }, (_, n): Part => [`p${n}`, 'x']);
  await check(await send([...many, MODEL, file(speech)]), 413, null, /too many/);
});

const deep = (depth: number): string => '{"type":'.repeat(depth) + '1' + '}'.repeat(depth);

/** Texts of parts beside the model and the file. */
const WRONG_TEXTS: readonly (readonly [name: string, text: string, param?: string])[] = [
  ['chunking_strategy', deep(10_000)],
  ['include', '['.repeat(10_000) + ']'.repeat(10_000)],
  ['timestamp_granularities[]', '__proto__', 'timestamp_granularities'],
  [
    'timestamp_granularities',
    JSON.stringify(Array(10_000).fill('word')).replace('word', 'words'),
    'timestamp_granularities',
  ],
  ['chunking_strategy[__proto__]', 'server_vad', 'chunking_strategy'],
  ['temperature', '1e999'],
  ['temperature', 'NaN'],
  ['prompt', 'x'.repeat(90_000)],
  ['language', 'e\0n'],
  ['language', 'x'.repeat(50_000)],
  ['response_format', 'constructor'],
  ['stream', '2'],
  ['hotwords', 'x'.repeat(90_000)],
];

Hostile('texts that no parameter takes are refused, and name it', async () => {
  for (const [name, text, param = name] of WRONG_TEXTS) {
    const response = await send([MODEL, [name, text], file(speech)]);
    const answer = await response.text();
    assert.is(response.status, 400, `${name}: ${answer}`);
    const { error } = JSON.parse(answer) as { error: { param: string | null; message: string } };
    assert.ok(error.param?.startsWith(param), `${name}: ${answer}`);
    assert.ok(error.message.length < 2000, `${name}: ${error.message.length} characters`);
  }
  await check(await send([['model', 'x'.repeat(90_000)], file(speech)]), 400, 'model', /at most 512 characters/);
  for (const model of ['asr\0', '__proto__'])
    await check(await send([['model', model], file(speech)]), 404, 'model', /does not exist/);
});

Hostile('other bodies and damaged forms are refused', async () => {
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"model":"asr"}' };
  await check(await fetch(at.url + PATH, json), 415, null, /multipart\/form-data/);
  await check(await fetch(at.url + PATH, { method: 'POST' }), 415, null, /multipart\/form-data/);
  const damaged = { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: '--b\r\nx' };
  await check(await fetch(at.url + PATH, damaged), 400, null, /multipart form cannot be read/);
  const binary = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n\xff\xfe\r\n--b--\r\n';
  const body = Buffer.from(binary, 'latin1');
  await check(await fetch(at.url + PATH, { ...damaged, body }), 400, 'prompt', /UTF-8/);
});

Hostile('texts with content types, as .NET sends them, are texts', async () => {
  const part = (rest: string, content: string | Buffer): Buffer =>
    Buffer.concat([Buffer.from(`--b\r\n${rest}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);
  const text = (name: string, value: string): Buffer =>
    part(`Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=${name}`, value);
  const body = Buffer.concat([
    text('model', 'whisper-1'),
    text('response_format', 'json'),
    part('Content-Disposition: form-data; name=file; filename=a.wav', Buffer.from(silence(1600))),
    Buffer.from('--b--\r\n'),
  ]);
  const type = 'content-type: multipart/form-data; boundary="b"';
  const port = Number(new URL(at.url).port);
  const host = head(PATH, type, `content-length: ${body.length}`).replace('host: x', `host: 127.0.0.1:${port}`);
  const [answer] = await exchange(port, [host, body]);
  assert.is(answer?.status, 200, answer?.body);
});

Hostile('a client that leaves during the upload leaves no file', async () => {
  const port = Number(new URL(at.url).port);
  const socket = await connected(port);
  const type = 'content-type: multipart/form-data; boundary=b';
  socket.write(head(PATH, type, 'content-length: 1000000').replace('host: x', `host: 127.0.0.1:${port}`));
  socket.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n');
  socket.write(Buffer.alloc(300_000));
  await eventually(() => at.leftovers().length > 0, 'the upload began');
  socket.destroy();
  await once(socket, 'close');
});

Hostile('a client that leaves ends the transcription', async () => {
  const long = file(await longSpeech(40), 'a.webm');
  for (const more of [[], [['stream', 'true'] as const]]) {
    const leaving = new AbortController();
    const gone = send([MODEL, ...more, long], PATH, leaving.signal)
      .then((response) => response.text())
      .then(
        () => false,
        () => true,
      );
    await eventually(() => at.leftovers('.f32').length > 0, 'the audio is decoded');
    leaving.abort();
    assert.ok(await gone);
    await eventually(() => at.leftovers().length === 0, 'the call has ended, and its audio is gone');
  }
});

if (cannotRun !== undefined) skip('hostile uploads of audio', cannotRun);
else Hostile.run();
