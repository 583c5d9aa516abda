import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../../../base/core/package-root.ts';

export interface CommandOptions {
  /** The program of the sandbox, which confines the process. */
  readonly program: string;
  /** Bytes of a guest's memory. */
  readonly memoryBytes: number;
  /** Bytes of all guests together. The process gets more where `slots` runs may take more. */
  readonly totalBytes: number;
  /** Guests at a time. */
  readonly slots: number;
}

/** A command whose arguments come before `serve` or `describe`. */
export interface ProcessCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** Descriptors that the process inherits: its module and its socket after the standard ones. */
const descriptors = 5;
/** Bytes that Node takes or reserves beside the memory of guests, and for each thread: code, heap and stack. */
const [ownBytes, threadBytes] = [1024 * 1024 * 1024, 352 * 1024 * 1024];
/** A run may have a memory, and as many bytes of blocks. */
const memoriesOfRun = 2;
/** Megabytes of the heap of the main thread, which only passes frames on. */
const mainHeapMb = 128;
const pageBytes = 65_536;
/** Entries of a table, which take up to 32 bytes each. Modules of large languages have some ten thousands. */
const maxTableEntries = 200_000;
/** Where a thread reads its own computing time. */
const computingTime = '/proc/thread-self/schedstat';
const main = fileURLToPath(new URL('./main.js', import.meta.url));
/** The folder of this package that the code runs from: a bundle, or files that import packages. */
const [built = ''] = relative(packageRoot, main).split(sep);
const readable = [built, 'package.json', join('wit', 'generated'), ...(built === 'bundle' ? [] : ['node_modules'])].map(
  (name) => join(packageRoot, name),
);

/**
 * Returns the command of the process that runs an Extism module. The kernel confines it as far as it can. V8 refuses a
 * memory that is larger than the limit or grows beyond it, and code that is made of text. Node refuses files that
 * its code does not need, new processes and addons.
 */
export function extismCommand({ program, memoryBytes, totalBytes, slots }: CommandOptions): ProcessCommand {
  // V8 aborts the process at this limit, so the runs that there can be must not reach it together.
  const guestBytes = Math.max(totalBytes, slots * memoriesOfRun * memoryBytes);
  return {
    file: program,
    args: [
      ...['confine', `descriptors=${descriptors}`, `total-bytes=${guestBytes + ownBytes + slots * threadBytes}`],
      ...[...readable.map((path) => `read=${path}`), 'read=/proc/self', '--'],
      ...[process.execPath, ...nodeArguments(memoryBytes), main],
    ],
  };
}

function nodeArguments(memoryBytes: number): string[] {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'; // before Node 23.5
  return [
    ...[
      permission,
      '--allow-worker',
      ...readable.map((path) => `--allow-fs-read=${path}`),
      `--allow-fs-read=${computingTime}`,
    ],
    ...['--disallow-code-generation-from-strings', '--no-addons', '--no-warnings'],
    ...[`--max-old-space-size=${mainHeapMb}`, '--max-semi-space-size=1', '--v8-pool-size=2'],
    ...[`--wasm-max-mem-pages=${Math.floor(memoryBytes / pageBytes)}`, `--wasm-max-table-size=${maxTableEntries}`],
  ];
}
