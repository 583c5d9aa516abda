import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { base64Bytes } from './base64.ts';

const Base64 = suite('base64 of clients');

Base64('is read as encoders write it', () => {
  for (let length = 0; length < 200; length += 1) {
    const bytes = Buffer.from(Array.from({ length }, (_, n) => (n * 37 + length) % 256));
    const text = bytes.toString('base64');
    const lines = text.replaceAll(/.{1,76}/g, '$&\r\n');
    const url = bytes.toString('base64url');
    for (const written of [text, lines, ` ${text}\n`, url, text.replace(/=+$/, '')])
      for (const head of ['', 'data:audio/mp3;base64,', 'data:;base64,', 'DATA:audio/wav;codecs=1;BASE64,\n'])
        assert.equal(base64Bytes(head + written), bytes, head + written);
  }
});

Base64('is nothing else', () => {
  for (const text of ['a', 'ab!d', 'abcde', 'data:audio/mp3,abcd', '{"a":1}', '====', 'ab=cdefg'])
    assert.is(base64Bytes(text), undefined, text);
});

Base64.run();
