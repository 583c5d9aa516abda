// How texts are decoded, with a real model: windows together and alone, and the parameters of the search.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type {
  NativeWhisperEngine,
  WhisperLoadOptions,
  WhisperNativeParams,
  WhisperNativeResult,
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
  writeDamagedModel,
} from './fixtures/test-whisper.ts';

const Decoding = suite('decoding of NativeWhisperEngine');

if (missing !== undefined) {
  process.stdout.write(`SKIP decoding of NativeWhisperEngine: ${missing} is missing\n`);
} else {
  const speech = await readWav(speechPath);
  let engine: NativeWhisperEngine;
  /** What the engine says of the speech sample without further parameters. */
  let usual: WhisperNativeResult;
  /** The encoder computes what the speech sample needs, less than half of a window. */
  const sampleOnly = { audioContext: 600 };
  let lastId = 0;
  const load = (changes: Partial<WhisperLoadOptions>): Promise<NativeWhisperEngine> =>
    loadWhisper({ maxStates: 1, ...changes });
  const transcribe = (
    samples: Float32Array,
    changes: Partial<WhisperNativeParams> = {},
    onSegment?: (segment: WhisperNativeSegment) => void,
  ): Promise<WhisperNativeResult> =>
    engine.transcribe(++lastId, samples, { ...plain, ...(samples === speech && sampleOnly), ...changes }, onSegment);
  const textOf = ({ segments }: WhisperNativeResult): string => segments.map(({ text }) => text).join('');
  /** The speech sample from a second on, so that windows of several of these differ. */
  const from = (second: number): Float32Array => speech.slice(second * 16000);

  Decoding.before(async () => {
    engine = await load({});
    usual = await transcribe(speech);
  });
  Decoding.after(async () => {
    await engine.close();
  });

  const joined = (...seconds: readonly number[]): Float32Array =>
    concat(...seconds.flatMap((second) => [from(second), silence(0.4)]));
  /** Three windows of the longest length. */
  const long = joined(0, 3, 1, 5, 2, 0, 4);
  /** Five windows with {@link shortWindows}. */
  const several = joined(0, 3, 1, 5);
  const whole = { ...shortWindows, vad: false };
  for (const [what, samples, changes] of [
    ['greedily', long, { vad: false }],
    ['with beams', several, { ...whole, beamSize: 5 }],
    ['by chance', several, { ...whole, temperatures: [0.4], bestOf: 3 }],
    ['with times of words', several, { ...whole, wordTimestamps: true, beamSize: 2 }],
  ] as const) {
    Decoding(`gives the same segments for windows that are decoded together and alone, ${what}`, async () => {
      const alone = await load({ batchSize: 1 });
      try {
        const expected = await alone.transcribe(1, samples, { ...plain, ...changes });
        assert.ok(expected.segments.length >= 5, `${expected.segments.length} segments`);
        const before = engine.steps;
        assert.equal(await transcribe(samples, changes), expected);
        assert.ok(engine.steps - before >= 3, `${engine.steps - before} windows`);
      } finally {
        await alone.close();
      }
    });
  }

  Decoding('gives the same segments beside other requests, and each request its own', async () => {
    const changes = { beamSize: 3, audioContext: 600 };
    const expected = [];
    for (let second = 0; second < 5; second++) expected.push(await transcribe(from(second), changes));
    const together = expected.map((_, second) => transcribe(from(second), changes));
    assert.equal(await Promise.all(together), expected);
  });

  Decoding('delivers the first text before the other windows were encoded', async () => {
    const before = engine.steps;
    let steps = Infinity;
    await transcribe(several, whole, () => (steps = Math.min(steps, engine.steps - before)));
    assert.ok(engine.steps - before >= 4);
    assert.ok(steps <= 1, `${steps} windows were done before the first text`);
  });

  Decoding('goes on after some of the windows that are decoded together were cancelled', async () => {
    const ids = [1, 2, 3].map(() => ++lastId);
    const cancelled = ids.map((id) =>
      engine.transcribe(id, several, { ...whole, beamSize: 5 }).then(
        () => 'done',
        (error: unknown) => (error as { code?: unknown }).code,
      ),
    );
    const heard: WhisperNativeSegment[] = [];
    await transcribe(speech, {}, (segment) => {
      heard.push(segment);
      for (const id of ids) engine.cancelTranscription(id);
    });
    assert.is(wordsOf(heard), said);
    assert.equal(await Promise.all(cancelled), ['cancelled', 'cancelled', 'cancelled']);
    assert.is(wordsOf((await transcribe(speech)).segments), said);
  });

  Decoding('decodes with as many beams as are asked for', async () => {
    for (const beamSize of [2, 8]) {
      const { segments } = await transcribe(speech, { beamSize, patience: beamSize === 2 ? 2 : 1 });
      assert.is(wordsOf(segments), said, `${beamSize} beams`);
    }
  });

  Decoding('never chooses a suppressed token', async () => {
    assert.match(textOf(await transcribe(speech, { withoutTimestamps: true })), /,/);
    // 11 is the comma of the vocabulary of models for English.
    assert.not.match(textOf(await transcribe(speech, { withoutTimestamps: true, suppressTokens: [-1, 11] })), /,/);
    const refused = await transcribe(speech, { suppressTokens: [99_999] }).catch((error: unknown) => error);
    assert.match(String(refused), 'suppress_tokens: the model has no token 99999');
    assert.is((refused as { fault?: unknown }).fault, 'caller');
  });

  Decoding('ends a text after the most tokens', async () => {
    const { segments } = await transcribe(speech, { maxNewTokens: 5, withoutTimestamps: true });
    const words = wordsOf(segments).split(' ');
    assert.ok(words.length >= 3 && words.length <= 5 && said.startsWith(words.join(' ')), words.join(' '));
  });

  Decoding('repeats no sequence of tokens where that is forbidden', async () => {
    // "what you can do for" and "your country" occur twice in the speech.
    const words = wordsOf((await transcribe(speech, { noRepeatNgramSize: 3, withoutTimestamps: true })).segments);
    assert.is.not(words, said);
    const triples = words
      .split(' ')
      .flatMap((_, i, all) => (i + 2 < all.length ? [all.slice(i, i + 3).join(' ')] : []));
    assert.is(new Set(triples).size, triples.length, words);
    assert.is.not(textOf(await transcribe(speech, { repetitionPenalty: 5 })), textOf(usual));
  });

  Decoding('continues a prefix in the first window, and leaves it out of the text', async () => {
    const prefix = 'And so, my fellow Americans, ask not';
    const { segments } = await transcribe(speech, { prefix, withoutTimestamps: true });
    assert.is(wordsOf(segments), said.replace(/^.*?ask not /, ''));
    const endOf = async (word: string, more = {}): Promise<number | undefined> =>
      (await transcribe(speech, { wordTimestamps: true, ...more })).segments
        .flatMap(({ words }) => words)
        .find((each) => each.word.trim() === word)?.end;
    assert.ok(Math.abs((await endOf('what', { prefix }))! - (await endOf('what'))!) < 0.3, 'the time of a word');
  });

  Decoding('writes as its hotwords do', async () => {
    const hotwords = 'so my fellow americans, my fellow americans, my fellow americans';
    assert.match(textOf(usual), 'my fellow Americans');
    assert.match(textOf(await transcribe(speech, { hotwords })), 'my fellow americans');
  });

  Decoding('writes the next window as the previous one, where that is asked', async () => {
    const initialPrompt = 'so my fellow americans, my fellow americans, my fellow americans';
    const twice = concat(speech, silence(1), speech);
    const windows = { initialPrompt, speech: { maxWindowS: 15 } };
    const forms = (result: WhisperNativeResult): string[] => textOf(result).match(/fellow americans/gi) ?? [];
    // Without it the prompt stands before each window, with it before the first one, whose text stands before the next.
    for (const conditionOnPreviousText of [false, true]) {
      const all = forms(await transcribe(twice, { ...windows, conditionOnPreviousText }));
      assert.equal(all, Array(2).fill('fellow americans'), `${conditionOnPreviousText}`);
    }
    // Each text is at a temperature of 0.2, so none is a prompt.
    const reset = { temperatures: [0.2], conditionOnPreviousText: true, promptResetOnTemperature: 0.1 };
    const all = forms(await transcribe(twice, { ...windows, ...reset }));
    assert.equal(all, ['fellow americans', 'fellow Americans']);
  });

  Decoding('leaves out an unlikely text where nobody speaks', async () => {
    const noise = Float32Array.from({ length: 5 * 16000 }, (_, i) => 0.01 * Math.sin(i * i * 0.37));
    const sure = { vad: false, logProbThreshold: 0, noSpeechThreshold: 0 };
    assert.equal((await transcribe(noise, sure)).segments, []);
    assert.equal((await transcribe(speech, sure)).segments, []);
    assert.is(wordsOf((await transcribe(speech, { ...sure, noSpeechThreshold: 1 })).segments), said);
  });

  Decoding('finds words in order, inside of their segments, over several windows', async () => {
    const { segments } = await transcribe(several, { ...whole, wordTimestamps: true });
    let last = 0;
    for (const segment of segments) {
      assert.is(segment.words.map(({ word }) => word).join(''), segment.text);
      for (const { start, end, probability } of segment.words) {
        assert.ok(
          start >= last && end >= start && start >= segment.start && end <= segment.end,
          JSON.stringify(segment),
        );
        assert.ok(probability > 0 && probability <= 1);
        last = end;
      }
    }
  });

  Decoding('has joined punctuation only where that is asked', async () => {
    const wordsWith = async (appendPunctuations: string): Promise<string[]> =>
      (await transcribe(speech, { wordTimestamps: true, appendPunctuations })).segments.flatMap(({ words }) =>
        words.map(({ word }) => word),
      );
    assert.is((await wordsWith(',.')).at(-1), ' country.');
    assert.equal((await wordsWith('')).slice(-2), [' country', '.']);
  });

  Decoding('tells the tokens of each segment where that is asked', async () => {
    const { segments } = await transcribe(concat(speech, silence(1), speech), { logprobs: true, beamSize: 2 });
    assert.ok(segments.length >= 2);
    for (const { text, tokens = [], averageLogProbability: mean } of segments) {
      assert.is(Buffer.concat(tokens.map(({ bytes }) => bytes)).toString(), text);
      assert.ok(Math.abs(tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length - mean) < 1e-6);
      // Numbers of text lie below the end of a text.
      assert.ok(tokens.every(({ id, logprob }) => id >= 0 && id < 50_256 && logprob <= 1e-6));
    }
    assert.ok(usual.segments.every((segment) => !('tokens' in segment)));
  });

  Decoding('leaves no speech out beside silence, where invented text is looked for', async () => {
    const talk = concat(silence(4), speech, silence(6));
    const params = { vad: false, wordTimestamps: true, hallucinationSilenceThreshold: 0.1 };
    assert.is(wordsOf((await transcribe(talk, params)).segments), said);
  });

  Decoding('says that a damaged model computes no numbers, and goes on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'aana-damaged-'));
    const modelPath = join(folder, 'damaged.bin');
    await writeDamagedModel(modelPath);
    const damaged = await load({ modelPath, maxStates: 2 });
    try {
      for (const language of ['en', 'auto'])
        await Promise.all(
          [1, 2].map(() =>
            damaged.transcribe(++lastId, speech, { ...plain, ...sampleOnly, language }).then(
              () => assert.unreachable('it made a text'),
              ({ message }: Error) => assert.match(message, /the model computed a logit that is not a number/),
            ),
          ),
        );
    } finally {
      await damaged.close();
      await rm(folder, { recursive: true });
    }
  });

  Decoding('needs no further memory for times of words', async () => {
    await transcribe(speech, { beamSize: 5 });
    const before = process.memoryUsage().rss;
    await transcribe(speech, { beamSize: 5, wordTimestamps: true });
    // The weights have 44 MB.
    assert.ok(process.memoryUsage().rss - before < 25e6, `${(process.memoryUsage().rss - before) / 1e6} MB`);
  });
}

Decoding.run();
