import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AnswerBody } from './answer-body.ts';

const Body = suite('the body of an answer');
const options = { maxBytes: 2 ** 30, signal: new AbortController().signal };
const bodyOf = (pieces: Iterable<Uint8Array>): AnswerBody =>
  new AnswerBody(new URL('http://a.example/'), Readable.from(pieces) as IncomingMessage, options);

Body('pieces of any length are read in order, at least and at most as much as was asked for', async () => {
  const all = Uint8Array.from({ length: 3_000 }, (_, n) => n % 251);
  const body = bodyOf(
    Array.from({ length: 60 }, (_, n) => all.slice((n * (n - 1) * 25) / 30, (n * (n + 1) * 25) / 30)),
  );
  const seen: number[] = [];
  let arrived = 0;
  for (let n = 1; ; n = (n * 7) % 101) {
    const piece = await body.read(n, n + 20, (bytes) => (arrived += bytes));
    seen.push(...piece);
    assert.ok(piece.length <= n + 20 && (piece.length >= n || seen.length === arrived), `${piece.length} of ${n}`);
    if (piece.length === 0) break;
  }
  assert.equal([seen.length, arrived], [2_950, 2_950]);
  assert.equal(seen, [...all.subarray(0, 2_950)]);
});

Body('bytes that a server sends one by one are not held one by one', async () => {
  function* single(): Generator<Uint8Array> {
    for (let n = 0; n < 400_000; n++) yield Uint8Array.of(n);
  }
  const body = bodyOf(single());
  const bytes = await body.read(300_000, 300_000);
  assert.equal([bytes.length, bytes.at(-1)], [300_000, 299_999 % 256]);
  assert.is((await body.rest()).length, 100_000);
});

Body.run();
