import { fileURLToPath } from 'node:url';
import { type Reading, runReader } from './run-reader.ts';

/** A PDF with more pages is refused. */
const MAX_PAGES = 1000;

const READER = fileURLToPath(new URL('./read-pdf-child.js', import.meta.url));

/** Returns whether a file begins as a PDF. */
export const isPdf = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-';

/**
 * Reads the text of the PDF at `path`, of up to `maxBytes` in UTF-8, with empty lines between pages. Rejects with the
 * reason of the signal.
 */
export function readPdf(path: string, maxBytes: number, signal: AbortSignal, seconds?: number): Promise<Reading> {
  return runReader(READER, [path, String(MAX_PAGES)], { maxBytes, signal, seconds });
}
