import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { segmentOf } from '../transcripts/fixtures/transcript.ts';
import { oneLine } from '../transcripts/one-line.ts';
import { type SpokenSegment, splitTranscript, type SplitTranscriptOptions } from './split-transcript.ts';
import type { TokenCounter } from './tokens.ts';

const Split = suite('splitTranscript');

const words: TokenCounter = (text) => text.split(/\s+/).length;

/** Segments of up to a minute, one after the other, half of them with times of words. */
const segments = fc
  .array(
    fc.record({
      words: fc.array(fc.oneof(fc.lorem({ maxCount: 1 }), fc.constantFrom('End.', '漢字', '😀')), { maxLength: 40 }),
      seconds: fc.double({ min: 0, max: 60, noNaN: true }),
      speaker: fc.constantFrom(null, 'Ada', 'Bob'),
      hasTimes: fc.boolean(),
    }),
    { maxLength: 20 },
  )
  .map((given) => {
    let at = 0;
    return given.map((one): SpokenSegment => {
      const [start, step] = [at, one.seconds / Math.max(one.words.length, 1)];
      at += one.seconds;
      const times = one.words.map((word, n): [string, number, number] => [
        ` ${word}`,
        start + n * step,
        Math.min(at, start + (n + 1) * step),
      ]);
      return segmentOf(one.words.map((word) => ` ${word}`).join(''), [start, at], {
        speaker: one.speaker,
        words: one.hasTimes ? times : [],
      });
    });
  });

/** The words without names of speakers. */
const spoken = (text: string): string[] =>
  text
    .replaceAll(/^(?:Ada|Bob): /gm, '')
    .split(/\s+/)
    .filter(Boolean);

Split('keeps all words in their order, within the limits of tokens and of time', async () => {
  await fc.assert(
    fc.asyncProperty(
      segments,
      fc.integer({ min: 16, max: 100 }),
      fc.integer({ min: 1, max: 90 }),
      async (given, maxTokens, maxSeconds) => {
        const chunks = await splitTranscript(given, { maxTokens, maxSeconds, countTokens: words });
        assert.equal(
          chunks.flatMap(({ text }) => spoken(text)),
          given.flatMap(({ text }) => spoken(text)),
        );
        const whole = given.flatMap(({ words: each, time_interval }) =>
          each.length < 2 ? [time_interval] : each.map((word) => word.time_interval),
        );
        for (const { text, time_interval: interval, speakers } of chunks) {
          assert.ok((await words(text)) <= maxTokens, text);
          const { start, end } = interval;
          const isDivisible = !whole.some((one) => one.start === start && one.end === end);
          if (isDivisible) assert.ok(end - start <= maxSeconds + 1e-9, `${end - start} s`);
          for (const name of speakers) assert.ok(text.includes(`${name}: `));
        }
      },
    ),
    { numRuns: 300 },
  );
});

Split('repeats no more than the overlap, and each chunk has something new', async () => {
  await fc.assert(
    fc.asyncProperty(segments, fc.integer({ min: 2, max: 60 }), async (given, maxSeconds) => {
      const overlapSeconds = maxSeconds / 3;
      const limits = { maxTokens: 40, maxSeconds, countTokens: words };
      const chunks = await splitTranscript(given, { ...limits, overlapSeconds });
      let covered = 0;
      for (const { time_interval: interval } of chunks) {
        assert.ok(interval.start >= covered - overlapSeconds - 1e-9, 'too much is repeated');
        assert.ok(interval.end >= covered, 'nothing is new');
        covered = interval.end;
      }
      const all = new Set(chunks.flatMap(({ text }) => spoken(text)));
      for (const word of given.flatMap(({ text }) => spoken(text))) assert.ok(all.has(word), word);
    }),
    { numRuns: 300 },
  );
});

Split('has intervals and speakers, and ends with a turn or a sentence', async () => {
  const ada = { speaker: 'Ada' };
  const given = [
    segmentOf(' Who makes the tea?', [0, 2], ada),
    segmentOf(' I thought', [2, 3], { speaker: 'Bob' }),
    segmentOf(' it was you.', [3, 5], { speaker: 'Bob' }),
    segmentOf(' It was', [5, 6], ada),
    segmentOf(' not me.', [6, 9], ada),
  ];
  assert.equal(await splitTranscript(given, { maxSeconds: 6 }), [
    {
      text: 'Ada: Who makes the tea?\nBob: I thought it was you.',
      time_interval: { start: 0, end: 5 },
      speakers: ['Ada', 'Bob'],
    },
    { text: 'Ada: It was not me.', time_interval: { start: 5, end: 9 }, speakers: ['Ada'] },
  ]);
  assert.equal(
    (await splitTranscript(given, { maxSeconds: 6, overlapSeconds: 2 })).map(({ text }) => oneLine(text)),
    ['Ada: Who makes the tea? Bob: I thought it was you.', 'Bob: it was you. Ada: It was not me.'],
  );
});

Split('divides a long segment without times of words by its tokens alone', async () => {
  const chunks = await splitTranscript([segmentOf(` ${'word '.repeat(1000)}`, [10, 500], { speaker: 'Ada' })], {
    maxTokens: 100,
    countTokens: words,
  });
  assert.ok(chunks.length >= 10 && chunks.every(({ text }) => text.startsWith('Ada: word')));
  assert.ok(chunks.every(({ time_interval: { start, end } }) => start === 10 && end === 500));
});

Split('has at most 16 characters for each token, whatever the counter says', async () => {
  const given = fc.array(
    fc.record({ length: fc.integer({ min: 1, max: 2000 }), speaker: fc.constantFrom(null, 'Ada', 'x'.repeat(15)) }),
    { maxLength: 10 },
  );
  await fc.assert(
    fc.asyncProperty(given, fc.integer({ min: 18, max: 100 }), async (all, maxTokens) => {
      const texts = all.map(({ length, speaker }, n) => segmentOf(` ${'a'.repeat(length)}`, [n, n + 1], { speaker }));
      const chunks = await splitTranscript(texts, { maxTokens, countTokens: words });
      for (const { text } of chunks) assert.ok(text.length <= 16 * maxTokens, `${text.length} characters`);
      const letters = chunks.reduce((sum, { text }) => sum + text.replaceAll(/^\w+:|[^a]/gm, '').length, 0);
      assert.is(
        letters,
        all.reduce((sum, { length }) => sum + length, 0),
      );
    }),
    { numRuns: 100 },
  );
});

Split('divides a hundred thousand segments at one time with few counts', async () => {
  const given = Array.from({ length: 100_000 }, (_, n) => segmentOf(` ${n}`, [0, 0]));
  let counted = 0;
  const countTokens = (text: string): number => {
    counted += text.length;
    return text.split(' ').length;
  };
  const chunks = await splitTranscript(given, { maxTokens: 100, countTokens });
  assert.is(chunks.map(({ text }) => text).join(' '), given.map(({ text }) => text.trim()).join(' '));
  assert.ok(counted < 20 * 600_000, `${counted} characters were counted`);
});

Split('refuses options out of their range, and limits that are too small for a name', async () => {
  const errorOf = (options: SplitTranscriptOptions, speaker = 'Ada'): Promise<string> =>
    splitTranscript([segmentOf(' Hello.', [0, 1], { speaker })], options).then(
      () => 'no error',
      (error: Error) => `${error.name}: ${error.message}`,
    );
  assert.is(await errorOf({ maxSeconds: 0.5 }), 'RangeError: maxSeconds must be a number from 1 to 86400, not 0.5');
  assert.is(
    await errorOf({ maxSeconds: 10, overlapSeconds: NaN }),
    'RangeError: overlapSeconds must be a number from 0 to 5, not NaN',
  );
  assert.is(await errorOf({ maxTokens: 1.5 }), 'RangeError: maxTokens must be an integer from 16 to 1000000, not 1.5');
  assert.is(
    await errorOf({ maxTokens: 16 }, 'x'.repeat(100)),
    'RangeError: maxTokens is too small: the name of a speaker has 26 tokens',
  );
});

Split.run();
