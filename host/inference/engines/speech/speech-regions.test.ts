import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { grouped, type Region, type SpeechRules, speechRegions } from './speech-regions.ts';

const Regions = suite('regions of speech');

const FRAME_S = 0.1;
const RULES: SpeechRules = { onset: 0.5, offset: 0.3, minDurationOn: 0, minDurationOff: 0, longest: 30 };

/** Frames of 0.1 s from digits: 7 is a probability of 0.7. */
const frames = (digits: string): Float32Array => Float32Array.from(digits, (digit) => Number(digit) / 10);
const regions = (digits: string, rules: Partial<SpeechRules> = {}, durationS = digits.length * FRAME_S): string[] =>
  speechRegions(frames(digits), FRAME_S, durationS, { ...RULES, ...rules }).map(
    ({ start, end }) => `${start.toFixed(2)}-${end.toFixed(2)}`,
  );

Regions('begin above the onset, end below the offset, and are padded', () => {
  assert.equal(regions('0000600400020000'), ['0.30-0.60']);
  assert.equal(regions('0000644420000'), ['0.30-0.90']);
  assert.equal(regions('0000500000'), []);
  assert.equal(regions('0000644420000', { offset: 0.5 }), ['0.30-0.60']);
  assert.equal(regions('0000644420000', { onset: 0.65 }), []);
});

Regions('stay inside of the audio', () => {
  assert.equal(regions('999'), ['0.00-0.30']);
  assert.equal(regions('0999', {}, 0.35), ['0.00-0.35']);
  assert.equal(regions(''), []);
});

Regions('go on over short pauses, and are left out when they are short', () => {
  assert.equal(regions('0009990099900000'), ['0.20-0.70', '0.70-1.20']);
  assert.equal(regions('0009990099900000', { minDurationOff: 0.25 }), ['0.20-1.20']);
  assert.equal(regions('0009000099900000', { minDurationOn: 0.15 }), ['0.70-1.20']);
});

Regions('are cut at the least likely speech of the second half of the longest part', () => {
  const speech = '9'.repeat(80).split('');
  for (const [at, digit] of [
    [20, '4'],
    [70, '6'],
    [95 - 20, '5'],
  ] as const)
    speech[at] = digit;
  assert.equal(regions(speech.join(''), { longest: 10 }), ['0.00-8.00']);
  assert.equal(regions(`${speech.join('')}${'9'.repeat(40)}`, { longest: 10 }), ['0.00-7.50', '7.50-12.00']);
});

Regions('of random probabilities are ascending, apart, and no longer than asked', () => {
  let state = 1;
  const random = (): number => (state = (state * 16807) % 2147483647) / 2147483647;
  for (let round = 0; round < 50; round += 1) {
    const probabilities = Float32Array.from({ length: 3000 }, () => 1 - random() ** 3);
    const found = speechRegions(probabilities, 0.032, 95.9, { ...RULES, longest: 10, minDurationOff: 0.1 });
    assert.ok(found.length > 9);
    let last = 0;
    for (const { start, end } of found) {
      assert.ok(start >= last && end > start && end - start <= 10 && end <= 95.9, JSON.stringify({ start, end, last }));
      last = end;
    }
  }
});

Regions('are grouped as long as a group is not longer than asked', () => {
  const all: Region[] = [
    { start: 0, end: 4 },
    { start: 5, end: 10 },
    { start: 10, end: 11 },
    { start: 30, end: 45 },
    { start: 46, end: 47 },
  ];
  assert.equal(grouped(all, 10), [all.slice(0, 2), all.slice(2, 3), all.slice(3, 4), all.slice(4)]);
  assert.equal(grouped([], 10), []);
});

Regions.run();
