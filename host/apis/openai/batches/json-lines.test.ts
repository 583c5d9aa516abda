import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonLines } from './json-lines.ts';

const Lines = suite('lines of a file of JSON');

/** Returns the lines of a file that is read in chunks of so many bytes, each with its number. */
async function linesOf(content: string | Buffer, chunkBytes: number, maxBytes = 100): Promise<string[]> {
  const bytes = Buffer.from(content as string);
  const chunks = (async function* () {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  })();
  const lines: string[] = [];
  for await (const { number, bytes: line } of jsonLines(chunks, maxBytes)) lines.push(`${number} ${line ?? 'long'}`);
  return lines;
}

Lines('are the same however the file is cut', async () => {
  const content = '\ufeff{"a":"é"}\r\n\n \t\n{"b":"\u{1f600}"}\n{"c":1}\n\n{"last":2}';
  const expected = ['1 {"a":"é"}\r', '4 {"b":"\u{1f600}"}', '5 {"c":1}', '7 {"last":2}'];
  for (let chunkBytes = 1; chunkBytes <= Buffer.byteLength(content); chunkBytes += 1)
    assert.equal(await linesOf(content, chunkBytes), expected, `${chunkBytes}`);
});

Lines('of too many bytes have a number only', async () => {
  const content = `${'x'.repeat(11)}\n${'y'.repeat(10)}\n${'z'.repeat(1000)}`;
  for (const chunkBytes of [1, 7, 10, 11, 5000])
    assert.equal(await linesOf(content, chunkBytes, 10), ['1 long', `2 ${'y'.repeat(10)}`, '3 long']);
});

Lines('are none in a file without text', async () => {
  for (const content of ['', '\n', '\r\n\r\n', ' ', '\ufeff\n']) assert.equal(await linesOf(content, 2), []);
});

Lines.run();
