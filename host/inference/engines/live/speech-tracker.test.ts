// Where speech is in a stream, with the real model of voice activity.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { speechPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import type { NativeVoiceDetector } from '../../../../native/lib/index.ts';
import { cannotRun, readWav } from '../fixtures/cannot-run.ts';
import { openNative } from '../native.ts';
import { SpeechTracker } from './speech-tracker.ts';

const Tracker = suite('the speech of a stream');

const RATE = 16_000;
let detector: NativeVoiceDetector;
let stream = new Float32Array(0);

Tracker.before(async () => {
  const models = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  const { path } = await models.pull('silero-vad-v6.2.0');
  detector = await openNative(silentLogger).loadVoiceDetector(path);
  // Two seconds of silence, 11 of speech, three of silence.
  const [speech = new Float32Array(0)] = await readWav(speechPath());
  stream = new Float32Array(speech.length + 5 * RATE);
  stream.set(speech, 2 * RATE);
});

async function tracked(length: number, samples = stream, threshold?: number): Promise<SpeechTracker> {
  const tracker = new SpeechTracker(detector, threshold);
  for (let at = 0; at < samples.length; at += length) await tracker.add(samples.subarray(at, at + length));
  return tracker;
}

Tracker('begins above the threshold', async () => {
  const at = async (threshold: number) => (await tracked(stream.length, stream, threshold)).speechAfter(0);
  const [low, middle, high] = [(await at(0.05))!, (await at(0.5))!, (await at(0.95))!];
  assert.ok(low.start <= middle.start && middle.start <= high.start && low.start < high.start);
  assert.ok(low.end >= middle.end && middle.end >= high.end && low.end > high.end);
  assert.equal(middle, (await tracked(stream.length)).speechAfter(0), 'the default');
  assert.is(await at(1), undefined);
});

Tracker('is found wherever the stream is divided', async () => {
  const whole = (await tracked(stream.length)).speechAfter(0)!;
  assert.ok(Math.abs(whole.start - 2.3) < 0.3 && Math.abs(whole.end - 12.8) < 0.3, JSON.stringify(whole));
  for (const length of [100, 1600, 8001]) assert.equal((await tracked(length)).speechAfter(0), whole);
});

Tracker('is looked for after a time only', async () => {
  const tracker = await tracked(1600);
  const whole = tracker.speechAfter(0)!;
  const rest = tracker.speechAfter(8)!;
  assert.ok(rest.start >= 7.98 && rest.start < 9, `${rest.start}`);
  assert.is(rest.end, whole.end);
  assert.is(tracker.speechAfter(13.5), undefined);
  assert.is(tracker.speechAfter(100), undefined, 'after the end');
  await tracker.add(stream.subarray(2 * RATE, 5 * RATE));
  assert.ok(tracker.speechAfter(13.5)!.start > 15.9, 'times go on');
});

Tracker('is nowhere in silence', async () => {
  assert.is((await tracked(1600, new Float32Array(3 * RATE))).speechAfter(0), undefined);
  assert.is(new SpeechTracker(detector).speechAfter(0), undefined);
});

if (cannotRun === undefined) Tracker.run();
else skip('the speech of a stream', cannotRun);
