import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isMistyped, newApiKey } from './key-text.ts';

const Key = suite('the text of an API key');

Key('begins with the prefix and differs each time', () => {
  const keys = Array.from({ length: 200 }, newApiKey);
  for (const key of keys) assert.match(key, /^aana_[0-9A-Za-z]{38}$/);
  assert.is(new Set(keys).size, keys.length);
  assert.ok(new Set(keys.join('')).size >= 62, 'every digit occurs');
});

Key('shows each mistake in one character and a missing end', () => {
  const key = newApiKey();
  assert.not.ok(isMistyped(key));
  for (let i = 'aana_'.length; i < key.length; i += 1) {
    assert.ok(isMistyped(`${key.slice(0, i)}${key[i] === 'x' ? 'y' : 'x'}${key.slice(i + 1)}`), `at ${i}`);
    assert.ok(isMistyped(key.slice(0, i)));
  }
  assert.ok(isMistyped(`${key}0`));
});

Key('is not checked for keys that were made elsewhere', () => {
  assert.equal(['sk-123', 'aana', ''].map(isMistyped), [false, false, false]);
});

Key.run();
