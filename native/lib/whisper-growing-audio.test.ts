// Audio in files that grow, through the real engine.
import { mkdtempSync, rmSync } from 'node:fs';
import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type {
  NativeGrowingAudio,
  NativeWhisperEngine,
  WhisperNativeParams,
  WhisperNativeSegment,
} from './binding/index.ts';
import {
  concat,
  loadWhisper,
  missing,
  plain,
  readWav,
  said,
  shortWindows,
  silence,
  speechPath,
  wordsOf,
} from './fixtures/test-whisper.ts';

const GrowingAudio = suite('growing audio of NativeWhisperEngine');

if (missing !== undefined) {
  process.stdout.write(`SKIP growing audio of NativeWhisperEngine: ${missing} is missing\n`);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'aana-growing-'));
  const speech = await readWav(speechPath);
  let engine: NativeWhisperEngine;
  let lastId = 0;
  let lastAudio = 0;

  GrowingAudio.before(async () => {
    engine = await loadWhisper();
  });
  GrowingAudio.after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  /** An audio whose files a test writes. */
  class Writer {
    readonly audio: NativeGrowingAudio;
    readonly #written: number[];

    private constructor(channels: number, expectedSamples: number) {
      const name = `${(lastAudio += 1)}`;
      const files = Array.from({ length: channels }, (_, n) => ({
        path: join(folder, `${name}-${n}.f32`),
        samples: 0,
        name: `${name}-${n}`,
      }));
      this.audio = { files, endPath: join(folder, `${name}.end`), expectedSamples };
      this.#written = files.map(() => 0);
    }

    static async open(channels: number, expectedSamples: number): Promise<Writer> {
      const writer = new Writer(channels, expectedSamples);
      for (const { path } of writer.audio.files) await writeFile(path, '');
      return writer;
    }

    async append(channel: number, samples: Float32Array): Promise<void> {
      const path = this.audio.files[channel]?.path ?? '';
      await appendFile(path, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
      this.#written[channel] = (this.#written[channel] ?? 0) + samples.length;
    }

    async end(): Promise<void> {
      await writeFile(`${this.audio.endPath}.part`, this.#written.join(' '));
      await rename(`${this.audio.endPath}.part`, this.audio.endPath);
    }

    /** Appends parts of unequal sizes that end inside of samples, too, with pauses between, and then tells the end. */
    async writeSlowly(...channels: readonly Float32Array[]): Promise<void> {
      const longest = Math.max(...channels.map(({ length }) => length));
      for (let at = 0, size = 1000; at < longest; at += size, size = (size * 7 + 4999) % 150_000) {
        for (const [n, samples] of channels.entries()) await this.append(n, samples.subarray(at, at + size));
        await delay(2);
      }
      await this.end();
    }
  }

  const repeated = (times: number, pauseS = 0): Float32Array =>
    concat(...Array.from({ length: times }, () => [speech, silence(pauseS)]).flat());
  const problemOf = async (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'it did not reject',
      (error: unknown) =>
        error instanceof Error && 'code' in error ? `${error.code}: ${error.message}` : String(error),
    );

  const cases: readonly (readonly [string, WhisperNativeParams])[] = [
    ['parts with speech', { ...plain, wordTimestamps: true }],
    ['everything', { ...shortWindows, vad: false }],
    ['chosen parts', { ...shortWindows, clips: [{ begin: 16_000, end: 200_000 }, { begin: 300_000 }] }],
    ['short windows of speech', { ...shortWindows, speech: { maxWindowS: 9, maxSpeechS: 6 } }],
  ];
  for (const [what, params] of cases)
    GrowingAudio(`has the result of the complete audio: ${what}`, async () => {
      // The second length is a multiple of the four seconds that are analysed at a time.
      for (const samples of [repeated(4, 1), repeated(2, 1).subarray(0, 24 * 16_000)]) {
        const complete = await engine.transcribe(++lastId, samples, params);
        assert.ok(complete.segments.length > 1);
        const writer = await Writer.open(1, 16_000);
        const fractions: number[] = [];
        const segments: WhisperNativeSegment[] = [];
        const [result] = await Promise.all([
          engine.transcribe(
            ++lastId,
            writer.audio,
            params,
            (segment) => segments.push(segment),
            (fraction) => fractions.push(fraction),
          ),
          writer.writeSlowly(samples),
        ]);
        assert.equal({ ...result, segments }, complete);
        assert.is(fractions.at(-1), 1);
        assert.ok(fractions.every((fraction, n) => fraction <= 1 && fraction > (fractions[n - 1] ?? 0)));
      }
    });

  GrowingAudio('is the mean of its channels, or one of them', async () => {
    const channels = [repeated(2, 1), concat(silence(12), repeated(1, 1))];
    const writer = await Writer.open(2, channels[0]?.length ?? 0);
    const both = engine.transcribe(++lastId, writer.audio, shortWindows);
    const second = engine.transcribe(++lastId, { ...writer.audio, channel: 1 }, shortWindows);
    await writer.writeSlowly(...channels);
    const mean = (channels[0] ?? silence(0)).map((sample, at) => sample / 2 + (channels[1]?.[at] ?? 0) / 2);
    assert.equal(await both, await engine.transcribe(++lastId, mean, shortWindows));
    assert.equal(await second, await engine.transcribe(++lastId, channels[1] ?? silence(0), shortWindows));
  });

  GrowingAudio('gives the first segment before the rest is written', async () => {
    const samples = repeated(4, 1);
    const writer = await Writer.open(1, samples.length);
    const half = samples.length / 2;
    await writer.append(0, samples.subarray(0, half));
    const segments: WhisperNativeSegment[] = [];
    let onFirst = (): void => {};
    const first = new Promise<void>((resolve) => (onFirst = resolve));
    const result = engine.transcribe(++lastId, writer.audio, shortWindows, (segment) => {
      segments.push(segment);
      onFirst();
    });
    await first; // the test hangs if the engine waits for the end
    await writer.append(0, samples.subarray(half));
    await writer.end();
    assert.equal({ ...(await result), segments }, await engine.transcribe(++lastId, samples, shortWindows));
  });

  GrowingAudio('does not hold up other audio, does not look hung, and can be cancelled', async () => {
    const writer = await Writer.open(1, 1e6);
    const ids = [++lastId, ++lastId, ++lastId];
    const waiting = ids.map((id) => problemOf(engine.transcribe(id, writer.audio, plain)));
    const { segments } = await engine.transcribe(++lastId, speech, plain);
    assert.is(wordsOf(segments), said);
    assert.ok(engine.busy);
    for (const before = engine.beats; engine.beats < before + 5;) await delay(5);
    for (const id of ids) engine.cancelTranscription(id);
    for (const problem of await Promise.all(waiting)) assert.match(problem, /^cancelled: /);
    assert.not(engine.busy);
  });

  GrowingAudio('that lacks samples is given up at the deadline of the call', async () => {
    const writer = await Writer.open(1, 1e6);
    const problem = await problemOf(engine.transcribe(++lastId, writer.audio, { ...plain, deadlineMs: 50 }));
    assert.match(problem, /^deadline-exceeded: /);
  });

  GrowingAudio('that is removed before its end, or ends with other lengths, is refused', async () => {
    const removed = await Writer.open(1, 1e6);
    await removed.append(0, speech);
    const cut = problemOf(engine.transcribe(++lastId, removed.audio, plain));
    await rm(removed.audio.files[0]?.path ?? '');
    assert.match(await cut, /^unreadable-audio: the audio .* (was removed before it was complete|cannot be read)/);
    const longer = await Writer.open(1, 1e6);
    await writeFile(longer.audio.endPath, '3');
    assert.match(await problemOf(engine.transcribe(++lastId, longer.audio, plain)), /holds 0 samples, not 3/);
    for (const wrong of [{}, { endPath: 'a' }, { endPath: 'a', files: [], expectedSamples: 1 }])
      assert.throws(() => engine.transcribe(++lastId, wrong as never, plain), /files|audio|samples|number/);
  });

  GrowingAudio('may end without samples', async () => {
    const writer = await Writer.open(1, 1e6);
    const result = engine.transcribe(++lastId, writer.audio, plain);
    await writer.end();
    assert.equal(await result, { segments: [], language: '', languageProbability: 0 });
  });
}

GrowingAudio.run();
