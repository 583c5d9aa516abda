import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { wordErrorRate, wordErrors } from './word-errors.ts';

const WordErrors = suite('word errors');

WordErrors('count each wrong, missing and extra word once, regardless of case and punctuation', () => {
  assert.is(wordErrors('Ask not what.', 'ask NOT, what'), 0);
  assert.is(wordErrors('ask not what', 'ask what'), 1);
  assert.is(wordErrors('ask what', 'ask not what'), 1);
  assert.is(wordErrors('ask not what', 'ask got what'), 1);
  assert.is(wordErrors('one two three', ''), 3);
  assert.is(wordErrorRate('one two three four', 'one two'), 0.5);
});

WordErrors.run();
