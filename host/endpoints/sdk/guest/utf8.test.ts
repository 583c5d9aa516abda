import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeUtf8, encodeUtf8, Utf8Decoder } from './utf8.ts';

const test = suite('utf8');

/** Bytes that begin, continue and end characters, and some that no character has. */
const interesting = [
  ...[0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf],
  ...[0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
];

/** Numbers below `limit` that are the same in each run. */
function* numbers(limit: number): Generator<number, never> {
  for (let state = 7; ;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield (state >>> 8) % limit;
  }
}

test('decodes any bytes as the platform does, also in pieces', () => {
  const next = numbers(interesting.length);
  const lengths = numbers(12);
  const platform = new TextDecoder('utf-8', { ignoreBOM: true });
  const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
  for (let n = 0; n < 20_000; n++) {
    const bytes = Uint8Array.from({ length: lengths.next().value }, () => interesting[next.next().value]!);
    const expected = platform.decode(bytes);
    assert.is(decodeUtf8(bytes), expected, `${bytes}`);
    const decoder = new Utf8Decoder();
    const at = lengths.next().value;
    const parts = decoder.read(bytes.subarray(0, at)) + decoder.read(bytes.subarray(at)) + decoder.end();
    assert.is(parts, expected, `${bytes} in two pieces, at ${at}`);
    const outcome = (decode: () => string): string => {
      try {
        return decode();
      } catch (error) {
        return (error as Error).name;
      }
    };
    const mine = new Utf8Decoder(true);
    assert.is(
      outcome(() => mine.read(bytes) + mine.end()),
      outcome(() => strict.decode(bytes)),
      `${bytes}, strictly`,
    );
  }
});

test('converts long texts, whose characters lie across the limits of pieces', () => {
  for (const text of ['a😀', '語', 'ü', 'abc', '😀', '\ud800'].flatMap((one) => [one, `x${one}`, `xy${one}`])) {
    const long = text.slice(0, 2) + text.repeat(100_000);
    const expected = new TextEncoder().encode(long);
    const encoded = encodeUtf8(long);
    assert.ok(Buffer.from(encoded).equals(expected), text);
    assert.ok(decodeUtf8(encoded) === new TextDecoder('utf-8', { ignoreBOM: true }).decode(expected), text);
  }
});

test.run();
