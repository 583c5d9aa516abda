import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { trimPoint } from './trim-point.ts';
import type { HeardWord } from './word-agreement.ts';

const Trims = suite('where the window of live speech is cut');

const LENGTHS = { comfortableS: 6, longS: 12, longestS: 20 };
const words = (text: string, start = 0): HeardWord[] =>
  text.split(' ').map((word, at) => ({ word: ` ${word}`, start: start + at, end: start + at + 0.5, probability: 1 }));

const cut = (end: number, confirmed: readonly HeardWord[], pending: readonly HeardWord[] = []) =>
  trimPoint({ start: 0, end, confirmed, pending }, LENGTHS);

Trims('is nowhere while the window is short', () => {
  assert.is(cut(5.9, words('Yes. No.')), undefined);
});

Trims('is after the last confirmed sentence', () => {
  assert.equal(cut(7, words('Yes. He said "no!" and then')), { at: 3.5, confirmed: 0 });
  assert.equal(cut(7, words('はい。 いいえ')), { at: 0.5, confirmed: 0 });
});

Trims('is after any confirmed word in a long window', () => {
  assert.is(cut(11, words('a sentence without an end')), undefined);
  assert.equal(cut(13, words('a sentence without an end')), { at: 4.5, confirmed: 0 });
});

Trims('confirms what it must drop from a window that is too long, because no two passes agree', () => {
  assert.equal(cut(20, [], words('one two three', 16)), { at: 17.5, confirmed: 2 });
  assert.equal(cut(20, []), { at: 8, confirmed: 0 });
});

Trims.run();
