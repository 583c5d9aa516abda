import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type {
  NativeWhisperEngine,
  WhisperNativeParams,
  WhisperNativeResult,
  WhisperNativeSegment,
} from './binding/index.ts';
import {
  addonPath,
  cached,
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
import { loadNative } from './load.ts';

const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it did not reject',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );
const messageOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it did not reject',
    (error: unknown) => String(error),
  );

const Whisper = suite('NativeWhisperEngine');

if (missing !== undefined) {
  process.stdout.write(`SKIP NativeWhisperEngine: ${missing} is missing\n`);
} else {
  const { modelPath, vadModelPath } = options;
  const speech = await readWav(speechPath);
  const durationS = speech.length / 16000;
  let engine: NativeWhisperEngine;
  /** What the engine says of the speech sample without further parameters. */
  let usual: WhisperNativeResult;
  let lastId = 0;
  const transcribe = (
    samples: Float32Array,
    changes: Partial<WhisperNativeParams> = {},
    onSegment?: (segment: WhisperNativeSegment) => void,
  ) => engine.transcribe(++lastId, samples, { ...plain, ...changes }, onSegment);

  Whisper.before(async () => {
    engine = await loadWhisper();
    usual = await transcribe(speech);
  });
  Whisper.after(async () => {
    await engine.close();
  });

  Whisper('describes the model', () => {
    assert.equal(engine.info, { multilingual: false, vocabularySize: 51864, type: 'tiny' });
  });

  Whisper('samples the same text whatever ran before', async () => {
    const sampled = { vad: false, temperatures: [1], audioContext: 600 };
    const first = await transcribe(speech, sampled);
    await transcribe(speech.slice(0, 5 * 16000), sampled);
    assert.equal(await transcribe(speech, sampled), first);
  });

  Whisper('tries the temperatures of the list and no others', async () => {
    const work = async (temperatures: readonly number[], logProbThreshold: number): Promise<number> => {
      const before = engine.beats;
      const short = { withoutTimestamps: true, maxNewTokens: 8, audioContext: 600 };
      await transcribe(speech, { ...short, vad: false, temperatures, logProbThreshold });
      return engine.beats - before;
    };
    const once = await work([0], 0);
    assert.is(await work([0, 0.2], -100), once);
    // No text is likely enough, so each temperature is tried.
    const second = (await work([0, 0.2], 0)) - once;
    const further = (await work([0, 0.2, 0.4, 0.6, 0.8, 1], 0)) - once;
    assert.ok(second > 0 && further > 3 * second, JSON.stringify({ once, second, further }));
  });

  Whisper('writes as its initial prompt does', async () => {
    const textOf = ({ segments }: WhisperNativeResult): string => segments.map(({ text }) => text).join('');
    assert.match(textOf(usual), 'my fellow Americans');
    const initialPrompt = 'so my fellow americans, my fellow americans, my fellow americans';
    assert.match(textOf(await transcribe(speech, { initialPrompt })), 'my fellow americans');
  });

  Whisper('refuses an empty list of temperatures', async () => {
    assert.throws(() => void transcribe(speech, { temperatures: [] }), /temperatures is empty/);
  });

  const multilingual = cached('whisper-base/ggml-base-q8_0.bin');
  if (multilingual === undefined) process.stdout.write('SKIP the language of speech: the base model is missing\n');
  else {
    Whisper('finds the language of speech, also after a shorter encoder, without encoding it twice', async () => {
      const base = await loadWhisper({ modelPath: multilingual, maxStates: 1 });
      try {
        const work = async (id: number, language: string): Promise<[WhisperNativeResult, number]> => {
          const before = base.beats;
          const result = await base.transcribe(id, speech, { ...plain, language, vad: false });
          assert.equal([result.language, wordsOf(result.segments)], ['en', said]);
          return [result, base.beats - before];
        };
        const [, known] = await work(1, 'en');
        const [alone, found] = await work(2, 'auto');
        // A beat is a node of a graph. One step of the decoder has about 250, and encoding has at least 150 more.
        assert.ok(found > known && found < known + 350, `${found - known} more nodes`);
        const short = { ...plain, language: 'en', vad: false, audioContext: 60 };
        await base.transcribe(3, speech.slice(0, 16_000), short);
        assert.equal((await work(4, 'auto'))[0], alone);
      } finally {
        await base.close();
      }
    });
  }

  Whisper('transcribes speech in segments inside the audio', async () => {
    const before = engine.steps;
    const streamed: WhisperNativeSegment[] = [];
    assert.is(wordsOf(usual.segments), said);
    assert.equal(await transcribe(speech, {}, (segment) => streamed.push(segment)), { ...usual, segments: [] });
    assert.equal(streamed, usual.segments);
    assert.is(usual.language, 'en');
    assert.is(usual.languageProbability, 1);
    assert.is(engine.steps, before + 1);
    let last = 0;
    for (const segment of usual.segments) {
      assert.ok(
        segment.start >= last && segment.end > segment.start && segment.end <= durationS,
        JSON.stringify(segment),
      );
      assert.ok(segment.averageLogProbability < 0 && segment.averageLogProbability > -1);
      assert.ok(segment.noSpeechProbability >= 0 && segment.noSpeechProbability < 0.5);
      assert.equal(segment.words, []);
      last = segment.end;
    }
  });

  Whisper(
    'takes a shorter encoder, but never one that is too short for the audio or too long for the model',
    async () => {
      const begin = said.split(' ').slice(0, 5).join(' ');
      for (const audioContext of [850, 9999]) {
        const { segments } = await transcribe(speech, { audioContext, wordTimestamps: true, vad: false });
        assert.ok(wordsOf(segments).startsWith(begin), `${audioContext}: ${wordsOf(segments)}`);
      }
      const { language } = await transcribe(speech, { audioContext: 1, wordTimestamps: true, vad: false });
      assert.is(language, 'en', 'no assertion of whisper.cpp has ended the process');
    },
  );

  Whisper('gives word times that match the speech', async () => {
    const { segments } = await transcribe(speech, { wordTimestamps: true });
    const words = segments.flatMap((segment) => segment.words);
    assert.is(words.map(({ word }) => word).join(''), segments.map(({ text }) => text).join(''));
    assert.is(words.length, said.split(' ').length);
    for (const [i, word] of words.entries()) {
      assert.ok(
        word.start >= (words[i - 1]?.end ?? 0) - 1e-6 && word.end >= word.start && word.end <= durationS,
        JSON.stringify(words),
      );
      assert.ok(word.probability > 0 && word.probability <= 1);
    }
    // "Americans" ends at 2.2 s. The pause after it lasts a second.
    const americans = words.find(({ word }) => word.includes('Americans'));
    assert.ok(americans && americans.end > 1.9 && americans.end < 2.6, JSON.stringify(americans));
  });

  Whisper('finds speech between silences', async () => {
    const { segments } = await transcribe(concat(silence(3), speech, silence(3)));
    assert.ok(segments.length > 0);
    assert.ok((segments[0]?.start ?? 0) > 2.8);
    assert.ok((segments.at(-1)?.end ?? Infinity) < durationS + 3.2);
  });

  for (const vad of [true, false]) {
    Whisper(`finds no segments in silence, ${vad ? 'with' : 'without'} voice activity detection`, async () => {
      assert.equal((await transcribe(silence(5), { vad })).segments, []);
      assert.equal((await transcribe(new Float32Array(0), { vad })).segments, []);
      assert.equal((await transcribe(new Float32Array(3), { vad })).segments, []);
    });
  }

  for (const [what, changes] of [
    ['a window', {}],
    ['a window with word times', { wordTimestamps: true }],
    ['audio that is not cut into windows', { vad: false }],
  ] as const) {
    Whisper(`beats inside ${what}`, async () => {
      const { steps, beats } = engine;
      await transcribe(speech, { ...changes, audioContext: 600 });
      assert.is(engine.steps, steps + 1);
      // A graph has about 150 nodes, and there is a graph for each token.
      assert.ok(engine.beats - beats > 1000, `${engine.beats - beats} beats`);
      assert.is(engine.busy, false);
    });
  }

  Whisper('beats while it looks for speech', async () => {
    const { beats } = engine;
    const nothing = transcribe(silence(120));
    assert.is(engine.busy, true);
    assert.equal((await nothing).segments, []);
    assert.ok(engine.beats - beats > 1000, `${engine.beats - beats} beats`);
    assert.is(engine.busy, false);
  });

  Whisper('does not report warnings of its library during a load as warnings', async () => {
    const lines: { level: string; message: string }[] = [];
    const binding = loadNative({ addonPath });
    binding.setLogger((level, message) => lines.push({ level, message }));
    try {
      const other = await loadWhisper();
      await other.transcribe(1, speech, { ...plain, wordTimestamps: true });
      await other.close();
      while (lines.length === 0) await new Promise((go) => setTimeout(go, 5));
      assert.equal(
        lines.filter(({ level }) => level === 'warn' || level === 'error'),
        [],
      );
    } finally {
      binding.setLogger(() => {});
    }
  });

  Whisper('keeps the media’s time across long silences and several windows', async () => {
    const pauseS = 40;
    const { segments } = await transcribe(concat(speech, silence(pauseS), speech));
    assert.is(wordsOf(segments), `${said} ${said}`);
    const second = segments.filter((segment) => segment.start > durationS);
    assert.is(wordsOf(second), said);
    assert.ok((second[0]?.start ?? 0) > durationS + pauseS - 1, JSON.stringify(segments));
  });

  Whisper('delivers segments in order while two windows run at once', async () => {
    const segments: WhisperNativeSegment[] = [];
    const samples = concat(speech, silence(1), speech, silence(1), speech);
    await transcribe(samples, { speech: { maxWindowS: 12 } }, (segment) => segments.push(segment));
    const starts = segments.map(({ start }) => start);
    assert.is(wordsOf(segments), Array(3).fill(said).join(' '));
    assert.equal(
      starts,
      [...starts].sort((a, b) => a - b),
    );
  });

  Whisper('runs two requests at the same time with the same results as separately', async () => {
    const [one, two] = await Promise.all([transcribe(speech), transcribe(speech, { vad: false })]);
    assert.is(wordsOf(one.segments), said);
    assert.is(wordsOf(two.segments), said);
  });

  Whisper('serves requests in turns, so that a short request does not wait for a whole long one', async () => {
    const single = await loadWhisper({ maxStates: 1 });
    const ended: string[] = [];
    const long = single
      .transcribe(1, concat(...Array.from({ length: 5 }, () => speech)), shortWindows)
      .then(() => ended.push('long'));
    const other = single.transcribe(2, speech, shortWindows).then(() => ended.push('short'));
    await Promise.all([long, other]);
    assert.equal(ended, ['short', 'long']);
    await single.close();
  });

  Whisper('lets a short request pass long ones that leave no audio out', async () => {
    // Each has some 20 windows. How many of them end meanwhile depends on what the machine does beside this.
    const long = concat(...Array.from({ length: 60 }, () => speech));
    const ended: string[] = [];
    const ids = [++lastId, ++lastId];
    const all = ids.map((id) =>
      engine.transcribe(id, long, { ...plain, vad: false }).then(
        () => ended.push('long'),
        () => ended.push('cancelled'),
      ),
    );
    await transcribe(speech);
    assert.equal(ended, []);
    for (const id of ids) engine.cancelTranscription(id);
    await Promise.all(all);
  });

  Whisper('rejects a cancelled request at once and serves the next', async () => {
    const id = ++lastId;
    const long = engine.transcribe(id, concat(...Array.from({ length: 9 }, () => speech)), plain);
    await transcribe(speech); // now the long one has begun
    const code = codeOf(long);
    engine.cancelTranscription(id);
    engine.cancelTranscription(id);
    engine.cancelTranscription(123456);
    assert.is(await code, 'cancelled');
    assert.is(wordsOf((await transcribe(speech)).segments), said);
  });

  const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => 'it did not reject',
      ({ code, fault }: { code?: unknown; fault?: unknown }) => [code, fault],
    );

  Whisper('ends a request at its deadline: as overload before it began, as cancelled afterwards', async () => {
    const single = await loadWhisper({ maxStates: 1 });
    assert.equal(await outcomeOf(single.transcribe(1, speech, { ...plain, deadlineMs: 0 })), [
      'deadline-exceeded',
      'overload',
    ]);
    const long = concat(...Array.from({ length: 9 }, () => speech));
    const running = single.transcribe(2, long, plain);
    const stopped = outcomeOf(running);
    assert.equal(await outcomeOf(single.transcribe(3, speech, { ...plain, deadlineMs: 1 })), [
      'deadline-exceeded',
      'overload',
    ]);
    single.cancelTranscription(2);
    assert.equal(await stopped, ['cancelled', 'cancelled']);
    const [code, fault] = (await outcomeOf(single.transcribe(4, long, { ...plain, vad: false, deadlineMs: 400 }))) as [
      string,
      string,
    ];
    assert.is(code, 'deadline-exceeded');
    assert.ok(['cancelled', 'overload'].includes(fault)); // on a slow machine it may not have begun
    assert.is(wordsOf((await single.transcribe(5, speech, plain)).segments), said);
    await single.close();
  });

  Whisper("lets tenants take turns, and serves a tenant's higher priority first", async () => {
    const single = await loadWhisper({ maxStates: 1 });
    const ended: number[] = [];
    const run = (id: number, terms: object): Promise<unknown> =>
      single.transcribe(id, speech, { ...plain, ...terms, audioContext: 600 }).then(() => ended.push(id));
    const first = single.transcribe(1, concat(...Array.from({ length: 7 }, () => speech)), plain).catch(() => {});
    const low = run(2, { tenant: 'many', priority: 5 });
    const high = run(3, { tenant: 'many', priority: 6 });
    const one = run(4, { tenant: 'one' });
    await Promise.all([low, high, one]);
    single.cancelTranscription(1);
    await first;
    assert.is(ended[2], 2, `${ended}`);
    await single.close();
  });

  Whisper('refuses a missing GPU', async () => {
    assert.match(
      await messageOf(loadWhisper({ useGpu: true, device: 'CUDA77' })),
      /cannot be loaded onto CUDA77: there is no such GPU/,
    );
  });

  Whisper('refuses an id in use and samples of another type', async () => {
    const id = ++lastId;
    const first = engine.transcribe(id, speech, plain);
    assert.is(await codeOf(engine.transcribe(id, speech, plain)), 'failed');
    await first;
    assert.throws(() => engine.transcribe(++lastId, [0, 0] as never, plain), /Float32Array/);
  });

  Whisper('continues when a listener throws', async () => {
    const heard: WhisperNativeSegment[] = [];
    await transcribe(speech, {}, (segment) => {
      heard.push(segment);
      throw new Error('listener');
    });
    assert.is(wordsOf(heard), said);
  });

  Whisper('names a model file that is missing, truncated or not a model', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'aana-whisper-'));
    try {
      const file = join(folder, 'model.bin');
      const whole = await readFile(modelPath);
      assert.match(await messageOf(loadWhisper({ modelPath: file })), `cannot open ${file}: No such file`);
      for (const length of [0, 3, 100, 500_000, whole.length - 1]) {
        await writeFile(file, whole.subarray(0, length));
        assert.match(
          await messageOf(loadWhisper({ modelPath: file })),
          new RegExp(`${file}: (it is truncated|the file is empty)`),
        );
      }
      const silero = await readFile(vadModelPath);
      for (const length of [100, silero.length - 1]) {
        await writeFile(file, silero.subarray(0, length));
        assert.match(await messageOf(loadWhisper({ vadModelPath: file })), `${file}: it is truncated`);
      }
      await writeFile(file, 'GGUF and then something else');
      assert.match(await messageOf(loadWhisper({ modelPath: file })), 'is not a Whisper model');
      assert.match(await messageOf(loadWhisper({ modelPath: vadModelPath })), 'not a Whisper model');
      assert.is(await codeOf(loadWhisper({ modelPath: file })), 'failed');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  Whisper('cancels its requests when it is closed, may be closed twice, and refuses work afterwards', async () => {
    const other = await loadWhisper();
    const code = codeOf(other.transcribe(1, concat(speech, speech, speech, speech), plain));
    await Promise.all([other.close(), other.close()]);
    assert.is(await code, 'cancelled');
    assert.is(await codeOf(other.transcribe(2, speech, plain)), 'failed');
  });

  const script = (body: string): string => `
    import { loadNative } from ${JSON.stringify(new URL('./load.js', import.meta.url).href)};
    import { Worker, isMainThread } from 'node:worker_threads';
    const binding = loadNative({ addonPath: ${JSON.stringify(addonPath)} });
    const engine = await binding.loadWhisper(${JSON.stringify(options)});
    const noise = Float32Array.from({ length: 16000 * 20 }, () => Math.random() - 0.5);
    ${body}`;
  const runScript = (body: string): { readonly status: number | null; readonly stdout: string } =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script(body)], { encoding: 'utf8', timeout: 60_000 });

  Whisper('lets the process end when idle, and by process.exit() with work in flight', () => {
    assert.is(runScript('').status, 0);
    assert.is(
      runScript(
        `engine.transcribe(1, noise, ${JSON.stringify({ ...plain, vad: false })}).catch(() => {}); setTimeout(() => ` +
          `process.exit(7), 100);`,
      ).status,
      7,
    );
    for (const work of [
      `engine.transcribe(1, noise, ${JSON.stringify({ ...plain, vad: false, wordTimestamps: true })}).catch(() => {})`,
      `engine.transcribe(1, new Float32Array(16000 * 600), ${JSON.stringify(plain)}).catch(() => {})`,
      `binding.loadWhisper(${JSON.stringify(options)}).catch(() => {})`,
      `(engine.transcribe(1, noise, ${JSON.stringify(plain)}).catch(() => {}), engine.close())`,
    ]) {
      assert.is(runScript(`void ${work}; setTimeout(() => process.exit(7), 100);`).status, 7, work);
    }
    const waited = runScript(`engine.transcribe(1, noise, ${JSON.stringify(plain)}).then(() => console.log('done'));`);
    assert.equal([waited.status, waited.stdout], [0, 'done\n']);
  });

  Whisper('survives the end of a worker thread that uses it', async () => {
    const { Worker } = await import('node:worker_threads');
    const url = new URL(
      `data:text/javascript,${encodeURIComponent(
        script(
          `import { parentPort } from 'node:worker_threads'; ` +
            `engine.transcribe(1, noise, ${JSON.stringify({ ...plain, vad: false })}).catch(() => {}); ` +
            `parentPort.postMessage('running');`,
        ),
      )}`,
    );
    const worker = new Worker(url);
    await new Promise((onMessage, onError) => {
      worker.once('message', onMessage);
      worker.once('error', onError);
    });
    await worker.terminate();
    assert.is(wordsOf((await transcribe(speech)).segments), said);
  });
}

Whisper.run();
