// Live transcription of real speech by the real engine, in a replica process.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import type { DeploymentHandle, DeploymentManager } from '../../deployments/index.ts';
import { LiveResult, LiveTurnResult } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun, readWav } from '../fixtures/cannot-run.ts';
import { deployed } from '../fixtures/real-models.ts';

const Live = suite('live transcription');

const HALF_SECOND = 8000;
let manager: DeploymentManager;
let asr: DeploymentHandle;
let speech: Float32Array = new Float32Array(0);

Live.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  await manager.start();
  asr = manager.handle('model');
  [speech = speech] = await readWav(speechPath());
});

Live.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
});

async function* inParts(samples: Float32Array, length = HALF_SECOND): AsyncGenerator<Float32Array> {
  for (let at = 0; at < samples.length; at += length) yield samples.slice(at, at + length);
}

async function results(audio: AsyncIterable<unknown>, params: object = {}): Promise<LiveResult[]> {
  const all: LiveResult[] = [];
  for await (const batch of asr.stream('transcribe_live', { audio, params }))
    all.push(...batch.map((value) => LiveResult.parse(value)));
  return all;
}

const textOf = (all: readonly LiveResult[]): string =>
  all
    .filter(({ type }) => type === 'final')
    .map(({ text }) => text)
    .join('');

Live('gives the words of the speech, partials before finals, and times in order', async () => {
  const audio = new AsyncQueue<Float32Array>();
  audio.push(speech.slice(0, 24_000)); // the rest follows when something was heard
  const all: LiveResult[] = [];
  for await (const batch of asr.stream('transcribe_live', { audio })) {
    if (all.length === 0) for await (const part of inParts(speech.slice(24_000))) audio.push(part);
    audio.end();
    all.push(...batch.map((value) => LiveResult.parse(value)));
  }
  assert.ok(wordErrors(SAMPLE_TEXT, textOf(all)) <= 4, textOf(all));
  assert.is(all[0]?.type, 'partial');
  let last = 0;
  for (const { words, time_interval: at } of all.filter(({ type }) => type === 'final')) {
    assert.ok(words.length > 0);
    assert.equal(at, { start: words[0]?.time_interval.start, end: words.at(-1)?.time_interval.end });
    for (const { time_interval: word } of words) {
      assert.ok(word.start >= last && word.end >= word.start, JSON.stringify(word));
      last = word.end;
    }
  }
  assert.ok(last <= speech.length / 16_000);
  assert.ok(all.every(({ language }) => language === 'en'));
});

/** Returns where turns begin and end in two seconds of silence, three of speech and two of silence. */
async function turnsOf(params: object): Promise<{ readonly started: number[]; readonly stopped: number[] }> {
  const samples = new Float32Array(7 * 16_000);
  samples.set(speech.subarray(0, 48_000), 32_000);
  const at = { speech_started: [] as number[], speech_stopped: [] as number[] };
  for await (const batch of asr.stream('transcribe_turns', { audio: inParts(samples), params }))
    for (const result of batch.map((value) => LiveTurnResult.parse(value)))
      if ('at' in result) at[result.type].push(result.at);
  return { started: at.speech_started, stopped: at.speech_stopped };
}

Live('turns begin with the audio before their speech that the caller wants', async () => {
  const long = await turnsOf({ prefix_s: 1.5 });
  const short = await turnsOf({ prefix_s: 0 });
  assert.is(long.started.length, 1);
  assert.ok(Math.abs(short.started[0]! - long.started[0]! - 1.5) < 0.001, JSON.stringify([short, long]));
  assert.equal(short.stopped, long.stopped);
});

Live('turns are found above the threshold of the caller', async () => {
  assert.equal(await turnsOf({ threshold: 1 }), { started: [], stopped: [] });
  assert.is((await turnsOf({ threshold: 0.05 })).started.length, 1);
});

Live('takes parts of any length and of each type', async () => {
  const shorts = Int16Array.from(speech, (sample) => Math.round(sample * 32_767));
  async function* mixed(): AsyncGenerator<unknown> {
    yield shorts.slice(0, 1);
    yield new Uint8Array(shorts.slice(1, 40_000).buffer);
    yield speech.slice(40_000, 40_000);
    yield speech.slice(40_000);
  }
  assert.ok(wordErrors(SAMPLE_TEXT, textOf(await results(mixed()))) <= 4);
});

Live('gives nothing for silence, noise-free or not, and for no audio', async () => {
  assert.equal(await results(inParts(new Float32Array(80_000))), []);
  assert.equal(await results(inParts(new Float32Array(80_000).map((_, at) => ((at * 7919) % 13) / 20_000))), []);
  assert.equal(await results(inParts(new Float32Array(0))), []);
});

Live('serves two streams at once', async () => {
  const both = await Promise.all([results(inParts(speech)), results(inParts(speech, 4000))]);
  for (const all of both) assert.ok(wordErrors(SAMPLE_TEXT, textOf(all)) <= 4, textOf(all));
});

const WRONG: readonly (readonly [what: string, part: unknown])[] = [
  ['half a sample', new Uint8Array(3)],
  ['text', 'hello'],
  ['no base64', { encoding: 's16le', data: '%%%' }],
  ['half a sample as base64', { encoding: 's16le', data: 'AAAA' }],
  ['an unknown encoding', { encoding: 'mp3', data: 'AAAA' }],
  ['more than 30 s', new Int16Array(1_000_000)],
];
for (const [what, part] of WRONG) {
  Live(`refuses ${what}, and goes on serving`, async () => {
    async function* audio(): AsyncGenerator<unknown> {
      yield speech.slice(0, 100);
      yield part;
    }
    const error = await errorOf(results(audio()));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
    assert.match(error.message, /audio/);
  });
}

Live('refuses a language that Whisper does not know', async () => {
  const error = await errorOf(results(inParts(speech), { language: 'klingon' }));
  assert.equal([error.name, error.message.includes('klingon')], ['ValidationError', true]);
});

Live('ends when its reader leaves while no audio comes, and leaves nothing running', async () => {
  const audio = new AsyncQueue<Float32Array>();
  audio.push(speech.slice(0, 32_000));
  const stream = asr.stream('transcribe_live', { audio })[Symbol.asyncIterator]();
  assert.is((await stream.next()).done, false);
  await stream.return?.();
  assert.equal(await audio.next(), { value: undefined, done: true }, 'the source is closed');
  while (manager.status()['model']?.replicas.some(({ ongoing }) => ongoing > 0)) await new Promise(setImmediate);
});

if (cannotRun === undefined) Live.run();
else skip('live transcription', cannotRun);
