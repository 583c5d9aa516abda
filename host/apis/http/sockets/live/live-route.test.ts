// Live transcription of real speech over a real WebSocket.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../../application/fixtures/test-app.ts';
import { cannotRun, readWav } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { type AanaApp, WhisperDeployment } from 'aana-host';
import { SAMPLE_TEXT, speechPath } from '../../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../../test/skip.ts';
import { refusalOf, SocketClient } from '../fixtures/socket-client.ts';
import { Resampler } from '../audio/resampler.ts';

const Live = suite('live transcription over a WebSocket');
const folder = makeFolder();
let app: AanaApp;
let url = '';
let speech: Float32Array = new Float32Array(0);

const whisper = () => WhisperDeployment.options({ user_config: { model_size: 'tiny.en', threads: 1, max_states: 1 } });

Live.before(async () => {
  app = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder });
  await started(app.registerDeployment('asr', whisper()));
  url = `${app.url!.replace('http', 'ws')}/asr/live`;
  [speech = speech] = await readWav(speechPath());
});
Live.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

const floats = (samples: Float32Array): Buffer => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);

const shorts = (samples: Float32Array): Buffer =>
  Buffer.from(Int16Array.from(samples, (sample) => Math.round(sample * 32_767)).buffer);

function at(rate: number): Float32Array {
  return new Resampler(16_000, rate).push(speech).slice();
}

function* parts(audio: Buffer, bytes: number): Generator<Buffer> {
  for (let from = 0; from < audio.length; from += bytes) yield audio.subarray(from, from + bytes);
}

// At 8 kHz the speech lacks the frequencies above 4 kHz. How tiny.en then hears "my fellow Americans" differs between
// processors, because their kernels round sums in another order.
const FORMATS: readonly (readonly [query: string, audio: () => Buffer, bytes: number, maxErrors: number])[] = [
  ['', () => shorts(speech), 3200, 4],
  ['?encoding=pcm_f32le&sample_rate=48000&deployment=asr', () => floats(at(48_000)), 19_200, 4],
  ['?sample_rate=8000&language=en&task=transcribe', () => shorts(at(8000)), 1_000_000, 8],
];
for (const [query, audio, bytes, maxErrors] of FORMATS) {
  Live(`gives the words of the speech for ${query || 'the default format'}`, async () => {
    const client = await SocketClient.open(url + query);
    const messages = await client.transcribe(...parts(audio(), bytes));
    const text = messages.map((message) => (message.type === 'final' ? String(message.text) : '')).join('');
    assert.ok(wordErrors(SAMPLE_TEXT, text) <= maxErrors, text);
    const last = messages.findLast(({ type }) => type === 'final');
    assert.ok(last.time_interval.end <= speech.length / 16_000 + 0.1, JSON.stringify(last.time_interval));
    assert.equal(messages.at(-1), { type: 'end' });
    assert.is((await client.closed).code, 1000);
  });
}

Live('tells that a language is unknown, and closes with 1007', async () => {
  const client = await SocketClient.open(`${url}?language=klingon`);
  const [message] = await client.transcribe(shorts(speech));
  assert.equal([message.type, message.error, message.message.includes('klingon')], ['error', 'ValidationError', true]);
  assert.is((await client.closed).code, 1007);
});

Live('needs the name of a deployment where several can do it', async () => {
  await app.registerDeployment('other', whisper(), { deploy: true });
  const { status, body } = await refusalOf(url);
  assert.equal([status, body.data[0].loc], [422, ['query', 'deployment']]);
  assert.match(body.data[0].msg, /asr, other/);
  const client = await SocketClient.open(`${url}?deployment=other`);
  assert.equal(await client.transcribe(), [{ type: 'end' }]);
});

if (cannotRun === undefined) Live.run();
else skip('live transcription over a WebSocket', cannotRun);
