// Reads PDFs in real child processes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encryptedPdf, memoryBomb, scannedPdf, slowPdf, textBomb, textPdf } from './fixtures/pdfs.ts';
import { skip } from '../../test/skip.ts';
import { readPdf } from './read-pdf.ts';
import type { Reading } from './run-reader.ts';

const Pdf = suite('readPdf');
const folder = mkdtempSync(join(tmpdir(), 'aana-pdf-'));
Pdf.after(() => rmSync(folder, { recursive: true }));

const MAX_BYTES = 100_000;
let count = 0;
function read(bytes: Uint8Array, signal = new AbortController().signal): Promise<Reading> {
  const path = join(folder, `${count++}.pdf`);
  writeFileSync(path, bytes);
  return readPdf(path, MAX_BYTES, signal, 300); // a busy machine
}

Pdf('reads the text of all pages', async () => {
  assert.equal(await read(textPdf('The first page\nhas two lines', 'The second')), {
    text: 'The first page\nhas two lines\n\nThe second',
  });
});

const REFUSED: readonly (readonly [what: string, make: () => Uint8Array, why: RegExp])[] = [
  ['is encrypted', encryptedPdf, /^needs a password$/],
  ['is cut', () => textPdf('A page').subarray(0, 20), /^is damaged: /],
  ['has no text', scannedPdf, /^has no text/],
  ['has too many pages', () => textPdf(...Array<string>(1001).fill('A page')), /^has 1001 pages: .* up to 1000$/],
  ['has too much text', () => textBomb(10 * MAX_BYTES), /^has more than 100000 bytes of text$/],
  ...(process.platform === 'linux'
    ? [['expands without end', () => memoryBomb(600_000_000), /^takes more than 512 MiB of memory/] as const]
    : []),
];
if (process.platform !== 'linux')
  skip('a file that expands without end is refused', 'nobody looks at the memory of a process here');
for (const [what, make, why] of REFUSED)
  Pdf(`says that a file ${what}`, async () => {
    const reading = await read(make());
    assert.match('unreadable' in reading ? reading.unreadable : reading.text.slice(0, 100), why);
  });

Pdf('reads or refuses a file with any bytes changed', async () => {
  const whole = textPdf('The first page', 'The second page');
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (changes) => {
      const bytes = Buffer.from(whole);
      for (const [at, byte] of changes) bytes[at] = byte;
      await read(bytes); // rejects if the reader ends in another way
    }),
    { numRuns: 10 },
  );
});

Pdf('says that a file takes too long', async () => {
  const path = join(folder, 'slow.pdf');
  writeFileSync(path, slowPdf());
  const reading = await readPdf(path, MAX_BYTES, new AbortController().signal, 1);
  assert.equal(reading, { unreadable: 'takes longer than 1 seconds to read' });
});

Pdf('ends when the signal aborts', async () => {
  const leaving = new AbortController();
  const reading = read(textPdf('A page'), leaving.signal);
  leaving.abort(new Error('the client left'));
  assert.is(await reading.then(undefined, (error: Error) => error.message), 'the client left');
});

Pdf.run();
