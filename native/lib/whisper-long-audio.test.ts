// Audio in files, of any length, through the real engine.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NativeAudioFile, NativeWhisperEngine, WhisperNativeSegment } from './binding/index.ts';
import {
  addonPath,
  concat,
  loadWhisper,
  missing,
  options,
  plain,
  readWav,
  said,
  shortWindows,
  silence,
  speechPath,
  wordsOf,
} from './fixtures/test-whisper.ts';

const LongAudio = suite('long audio of NativeWhisperEngine');

if (missing !== undefined) {
  process.stdout.write(`SKIP long audio of NativeWhisperEngine: ${missing} is missing\n`);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'aana-audio-'));
  const speech = await readWav(speechPath);
  const durationS = speech.length / 16000;
  let engine: NativeWhisperEngine;
  let lastId = 0;

  LongAudio.before(async () => {
    engine = await loadWhisper();
  });
  LongAudio.after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  const fileOf = async (name: string, samples: Float32Array): Promise<NativeAudioFile> => {
    const path = join(folder, name);
    await writeFile(path, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
    return { path, samples: samples.length, name };
  };
  const repeated = (times: number, pauseS = 0): Float32Array =>
    concat(...Array.from({ length: times }, () => [speech, silence(pauseS)]).flat());
  const problemOf = async (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'it did not reject',
      (error: unknown) =>
        error instanceof Error && 'code' in error ? `${error.code}: ${error.message}` : String(error),
    );

  LongAudio('has the same result from a file as from memory', async () => {
    const samples = repeated(2, 1);
    const file = await fileOf('speech.f32', samples);
    for (const params of [shortWindows, { ...shortWindows, vad: false }, { ...shortWindows, wordTimestamps: true }])
      assert.equal(
        await engine.transcribe(++lastId, [file], params),
        await engine.transcribe(++lastId, samples, params),
      );
  });

  LongAudio('is the mean of its channels', async () => {
    const eight = await Promise.all(Array.from({ length: 8 }, (_, n) => fileOf(`channel${n}.f32`, speech)));
    assert.is(wordsOf((await engine.transcribe(++lastId, eight, plain)).segments), said);
    const half = await fileOf('half.f32', speech.subarray(0, 16000));
    const none = { path: '', samples: 0, name: 'none' };
    assert.is(wordsOf((await engine.transcribe(++lastId, [...eight, half, none], plain)).segments), said);
  });

  LongAudio('without samples or channels has no segments', async () => {
    for (const files of [[], [{ path: '', samples: 0, name: 'none' }]])
      for (const vad of [true, false])
        assert.equal(await engine.transcribe(++lastId, files, { ...plain, vad }), {
          segments: [],
          language: '',
          languageProbability: 0,
        });
  });

  LongAudio('with samples that are not numbers is transcribed', async () => {
    const samples = speech.slice();
    for (let at = 100; at < samples.length; at += 4000) samples[at] = [NaN, Infinity, -Infinity][at % 3] ?? NaN;
    const { segments } = await engine.transcribe(++lastId, [await fileOf('nan.f32', samples)], plain);
    assert.is(wordsOf(segments), said);
    const nothing = await fileOf('nothing.f32', new Float32Array(48_000).fill(NaN));
    assert.equal((await engine.transcribe(++lastId, [nothing], { ...plain, vad: false })).segments, []);
  });

  LongAudio('of digital silence has no words without voice activity detection either', async () => {
    const before = engine.steps;
    const { segments } = await engine.transcribe(++lastId, concat(silence(70), speech), { ...plain, vad: false });
    assert.is(wordsOf(segments), said);
    assert.ok((segments[0]?.start ?? 0) > 58);
    assert.ok(engine.steps - before <= 2, `${engine.steps - before} windows`);
  });

  LongAudio('that leaves no audio out has the words and times of the whole file', async () => {
    const samples = repeated(4, 2);
    const { segments } = await engine.transcribe(++lastId, samples, { ...plain, vad: false });
    assert.is(wordsOf(segments), Array(4).fill(said).join(' '));
    let last = 0;
    for (const { start, end } of segments) {
      assert.ok(start >= last && end >= start && end <= samples.length / 16000, JSON.stringify(segments));
      last = end;
    }
    for (let n = 0; n < 4; n += 1) {
      const begin = n * (durationS + 2);
      const near = segments.filter(({ start }) => start >= begin - 1.5 && start < begin + durationS);
      assert.is(wordsOf(near), said, JSON.stringify(segments));
    }
  });

  for (const vad of [true, false])
    LongAudio(`reports its progress ${vad ? 'with' : 'without'} voice activity detection`, async () => {
      const events: (number | string)[] = [];
      const onSegment = ({ text }: WhisperNativeSegment): unknown => events.push(text);
      const onProgress = (fraction: number): unknown => events.push(fraction);
      await engine.transcribe(++lastId, repeated(4, 1), { ...shortWindows, vad }, onSegment, onProgress);
      const fractions = events.filter((event) => typeof event === 'number');
      assert.ok(fractions.length > 2, JSON.stringify(events));
      assert.is(fractions.at(-1), 1);
      assert.ok(fractions.every((fraction, n) => fraction > (fractions[n - 1] ?? 0)));
      // A later window may be done before the first one, and all texts come before the end.
      assert.is(events.at(-1), 1);
      assert.ok(events.some((event) => typeof event === 'string'));
    });

  LongAudio('gives the first segment before the rest was read', async () => {
    // The file has only the first minute.
    const samples = repeated(5, 1);
    const path = join(folder, 'growing.f32');
    await writeFile(path, new Uint8Array(samples.buffer));
    await truncate(path, 3600 * 16000 * 4);
    let text = '';
    const id = ++lastId;
    const files = [{ path, samples: 3600 * 16000, name: 'growing' }];
    const cut = engine.transcribe(id, files, plain, (segment) => {
      if (text === '') void truncate(path, samples.byteLength);
      text += segment.text;
    });
    assert.match(await problemOf(cut), /^unreadable-audio: the audio growing holds \d+ samples, not 57600000$/);
    assert.match(text, 'your country');
    assert.is(wordsOf((await engine.transcribe(++lastId, speech, plain)).segments), said);
  });

  LongAudio('that cannot be read is refused with the reason', async () => {
    const short = { ...(await fileOf('short.f32', new Float32Array(2))), samples: 3 };
    const absent = { path: join(folder, 'absent.f32'), samples: 3, name: 'absent.f32' };
    for (const vad of [true, false]) {
      assert.is(
        await problemOf(engine.transcribe(++lastId, [short], { ...plain, vad })),
        'unreadable-audio: the audio short.f32 holds 2 samples, not 3',
      );
      assert.match(
        await problemOf(engine.transcribe(++lastId, [absent], { ...plain, vad })),
        /^unreadable-audio: the audio absent.f32 cannot be read: No such file/,
      );
    }
    for (const wrong of [7, 'path', {}, ['path'], [{ path: 'a' }], [{ path: 'a', samples: -1, name: 'a' }], [[]]])
      assert.throws(() => engine.transcribe(++lastId, wrong as never, plain), /Float32Array|samples|string/);
  });

  LongAudio('takes as much memory as short audio, also several at the same time', async () => {
    const minutes = 8;
    const path = join(folder, 'sparse.f32');
    await writeFile(path, '');
    await truncate(path, minutes * 60 * 16000 * 4);
    // Some seconds of speech near its end.
    await using file = await open(path, 'r+');
    await file.write(Buffer.from(speech.buffer), 0, speech.byteLength, (minutes - 1) * 60 * 16000 * 4);
    const script = `
      import { loadNative } from ${JSON.stringify(new URL('./load.js', import.meta.url).href)};
      const native = loadNative({ addonPath: ${JSON.stringify(addonPath)} });
      const engine = await native.loadWhisper(${JSON.stringify(options)});
      const files = (samples) => [{ path: ${JSON.stringify(path)}, samples, name: 'sparse' }];
      const run = (id, samples, vad) => engine.transcribe(id, files(samples), { ...${JSON.stringify(plain)}, vad });
      const tone = Float32Array.from({ length: 480000 }, (_, at) => Math.sin(at / 9) / 9);
      await Promise.all([1, 2].map((id) => engine.transcribe(id, tone, { ...${JSON.stringify(plain)}, vad: false })));
      const before = process.memoryUsage.rss();
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
      const samples = ${minutes * 60 * 16000};
      const results = await Promise.all([3, 4, 5].map((id) => run(id, samples, id !== 5)));
      clearInterval(timer);
      console.log(JSON.stringify({ grown: most - before, texts: results.map(({ segments }) => segments.length) }));
      await engine.close();`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    assert.is(status, 0, stderr);
    const { grown, texts } = JSON.parse(stdout) as { grown: number; texts: number[] };
    assert.ok(texts.every((count) => count > 0));
    // Three times the samples would be 92 MB.
    assert.ok(grown < 45e6, `it grew by ${Math.round(grown / 1e6)} MB`);
  });
}

LongAudio.run();
