import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type HeardWord, WordAgreement } from './word-agreement.ts';

const Agreement = suite('the agreement of passes over live speech');

/** Returns words of 0.4 s, one every half second from `start` on. */
const heard = (text: string, start = 0): HeardWord[] =>
  text.split(' ').map((word, at) => ({
    word: ` ${word}`,
    start: start + at / 2,
    end: start + at / 2 + 0.4,
    probability: 0.9,
  }));
const textOf = (words: readonly HeardWord[]): string => words.map(({ word }) => word.trim()).join(' ');

Agreement('confirms the words on which two passes in a row agree, and none after the first difference', () => {
  const agreement = new WordAgreement();
  assert.equal(agreement.hear(heard('And so my fell')), []);
  assert.is(textOf(agreement.hear(heard('And so my fellow American'))), 'And so my');
  assert.is(textOf(agreement.pending), 'fellow American');
  assert.is(textOf(agreement.hear(heard('And so my fellow Americans'))), 'fellow');
  assert.is(textOf(agreement.pending), 'Americans');
});

Agreement('confirms likely words that were heard with enough speech after them, up to the first other word', () => {
  const agreement = new WordAgreement();
  assert.is(textOf(agreement.hear(heard('And so my fellow'), 1.4)), 'And so my');
  const [unsure, next] = heard('country can', 2);
  assert.ok(unsure && next);
  const words = [...heard('And so my fellow'), { ...unsure, probability: 0.5 }, next];
  assert.is(textOf(agreement.hear(words, 10)), 'fellow');
  assert.is(textOf(agreement.hear(words, 10)), 'country can');
});

Agreement('takes the spelling of the later pass, and compares without case and punctuation', () => {
  const agreement = new WordAgreement();
  agreement.hear(heard('ask not'));
  assert.is(textOf(agreement.hear(heard('Ask, not what'))), 'Ask, not');
});

Agreement('does not confirm words of which a pass in between knew nothing', () => {
  const agreement = new WordAgreement();
  agreement.hear(heard('thank you'));
  assert.equal(agreement.hear([]), []);
  assert.equal(agreement.hear(heard('thank you')), []);
});

Agreement('finds the new words where a pass hears confirmed words differently, once more, or not at all', () => {
  for (const again of ['asked not what your', 'ask naught not what your', 'not what your', 'what your']) {
    const agreement = new WordAgreement();
    agreement.hear(heard('ask not'));
    agreement.hear(heard('ask not'));
    const count = again.split(' ').length;
    agreement.hear(heard(again, (4 - count) / 2));
    assert.is(textOf(agreement.pending), 'what your', again);
  }
});

Agreement('knows a word that is said again from one that was confirmed', () => {
  const agreement = new WordAgreement();
  agreement.hear(heard('no'));
  agreement.hear(heard('no'));
  agreement.hear(heard('no no no'));
  assert.is(textOf(agreement.hear(heard('no no no'))), 'no no');
});

Agreement('never gives times before those of an earlier word, or an end before its start', () => {
  const agreement = new WordAgreement();
  const [a, b] = heard('one two');
  assert.ok(a && b);
  agreement.hear([a, b]);
  const words = agreement.hear([
    { ...a, end: 0.9 },
    { ...b, start: 0.5, end: 0.6 },
  ]);
  assert.equal(
    words.map(({ start, end }) => [start, end]),
    [
      [0, 0.9],
      [0.9, 0.9],
    ],
  );
});

Agreement('forgets confirmed words whose audio was dropped', () => {
  const agreement = new WordAgreement();
  agreement.hear(heard('one two three four'));
  agreement.hear(heard('one two three four'));
  agreement.forgetBefore(0.95);
  assert.is(textOf(agreement.confirmed), 'three four');
  agreement.hear(heard('three four five', 1));
  assert.is(textOf(agreement.pending), 'five');
});

Agreement('confirms everything when it is told to', () => {
  const agreement = new WordAgreement();
  agreement.hear(heard('the end'));
  assert.is(textOf(agreement.confirm()), 'the end');
  assert.equal([agreement.pending, agreement.confirmedUntil], [[], 0.9]);
});

Agreement.run();
