import { Limiter } from '../../base/core/async/limiter.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import { runContained, type RunContainedResult } from '../../base/processes/index.ts';
import { EXIT_UNREADABLE } from './unreadable.ts';

/** Seconds in which a file must be read. */
const MAX_SECONDS = 30;
/** Resident memory of the process that reads a file. A thousand pages of a PDF need a third of it. */
const MAX_MIB = 512;
/** Megabytes of its heap, in which no streams of the file are. */
const MAX_HEAP_MB = 256;

/** Each reading takes a processor and up to {@link MAX_MIB}, so few run at a time. */
const readings = new Limiter(2);

/** The text of a file, or why it has none: a predicate such as `needs a password`. */
export type Reading = { readonly text: string } | { readonly unreadable: string };

export interface ReaderOptions {
  /** Most bytes of the text in UTF-8. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Seconds in which the file must be read. Default: 30. */
  readonly seconds?: number | undefined;
}

/**
 * Returns what a program writes about a file, in a child process, because a file can make a reader compute and take
 * memory without end. Rejects with the reason of the signal. @param program the path of its module
 */
export async function runReader(
  program: string,
  args: readonly string[],
  { maxBytes, signal, seconds = MAX_SECONDS }: ReaderOptions,
): Promise<Reading> {
  const tooSlow = `takes longer than ${seconds} seconds to read`;
  try {
    const result = await readings.run(
      () =>
        runContained(process.execPath, [`--max-old-space-size=${MAX_HEAP_MB}`, program, ...args], {
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
        return { unreadable: tooMuchText(maxBytes) };
      default:
        throw error;
    }
  }
}

export const tooMuchText = (maxBytes: number): string => `has more than ${maxBytes} bytes of text`;

const TOO_BIG = `takes more than ${MAX_MIB} MiB of memory to read`;

function readingOf({ code, signal, stdout, stderr }: RunContainedResult, tooSlow: string): Reading {
  if (code === 0) return { text: stdout.toString() };
  if (code === EXIT_UNREADABLE) return { unreadable: stderr.trim().split('\n').at(-1) ?? '' };
  if (signal === 'SIGXCPU' || signal === 'SIGKILL') return { unreadable: tooSlow };
  if (signal !== null) return { unreadable: TOO_BIG }; // V8 aborts when the heap is full
  throw fail('DocumentReaderError', `the reader of a file ended with ${code}: ${stderr.slice(-300)}`);
}
