import { fileURLToPath } from 'node:url';
import { Limiter } from '../../base/core/async/limiter.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import { runContained, type RunContainedResult } from '../../base/processes/index.ts';
import { EXIT_UNREADABLE } from './unreadable.ts';

/** A PDF with more pages is refused. */
const MAX_PAGES = 1000;
/** Seconds in which a PDF must be read. */
const MAX_SECONDS = 30;
/** Resident memory of the process that reads a PDF. A thousand pages of text need a third of it. */
const MAX_MIB = 512;
/** Megabytes of its heap, in which no streams of the file are. */
const MAX_HEAP_MB = 256;

const CHILD = fileURLToPath(new URL('./read-pdf-child.js', import.meta.url));

/** Each reading takes a processor and up to {@link MAX_MIB}, so few run at a time. */
const readings = new Limiter(2);

/** The text of a PDF, with empty lines between pages, or why it has none: a predicate such as `needs a password`. */
export type PdfReading = { readonly text: string } | { readonly unreadable: string };

/** Returns whether a file begins as a PDF. */
export const isPdf = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-';

/**
 * Reads the text of the PDF at `path`, of up to `maxBytes` in UTF-8, in a child process, because a file can make the
 * reader compute and take memory without end. Rejects with the reason of the signal.
 */
export async function readPdf(
  path: string,
  maxBytes: number,
  signal: AbortSignal,
  seconds = MAX_SECONDS,
): Promise<PdfReading> {
  const args = [`--max-old-space-size=${MAX_HEAP_MB}`, CHILD, path, String(MAX_PAGES)];
  const tooSlow = `takes longer than ${seconds} seconds to read`;
  try {
    const result = await readings.run(
      () =>
        runContained(process.execPath, args, {
          nice: 10,
          cpuSeconds: seconds,
          timeoutMs: seconds * 1000,
          residentBytes: MAX_MIB * 2 ** 20,
          maxStdoutBytes: maxBytes,
          graceMs: 0,
          env: {},
          signal,
        }),
      signal,
    );
    return readingOf(result, tooSlow);
  } catch (error) {
    if (signal.aborted || !(error instanceof AanaError)) throw error;
    switch (error.name) {
      case 'ProcessTimeout':
        return { unreadable: tooSlow };
      case 'ProcessMemoryTooLarge':
        return { unreadable: TOO_BIG };
      case 'ProcessOutputTooLarge':
        return { unreadable: `has more than ${maxBytes} bytes of text` };
      default:
        throw error;
    }
  }
}

const TOO_BIG = `takes more than ${MAX_MIB} MiB of memory to read`;

function readingOf({ code, signal, stdout, stderr }: RunContainedResult, tooSlow: string): PdfReading {
  if (code === 0) return { text: stdout.toString() };
  if (code === EXIT_UNREADABLE) return { unreadable: stderr.trim().split('\n').at(-1) ?? '' };
  if (signal === 'SIGXCPU' || signal === 'SIGKILL') return { unreadable: tooSlow };
  if (signal !== null) return { unreadable: TOO_BIG }; // V8 aborts when the heap is full
  throw fail('PdfReaderError', `the reader of PDFs ended with ${code}: ${stderr.slice(-300)}`);
}
