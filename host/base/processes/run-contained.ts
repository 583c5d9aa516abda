import { fail } from '../core/errors.ts';
import { type SpawnContainedOptions, commandNotFound, endChild, spawnContained } from './spawn-contained.ts';
import { watchMemory } from './watch-memory.ts';

export interface RunContainedOptions extends Omit<SpawnContainedOptions, 'stdio'> {
  /** Milliseconds after which the child is ended and `ProcessTimeout` is thrown. */
  readonly timeoutMs?: number | undefined;
  /**
   * Bytes of resident memory above which the child is ended and `ProcessMemoryTooLarge` is thrown. Checked ten times a
   * second, only on Linux.
   */
  readonly residentBytes?: number | undefined;
  /** Bytes of output above which the child is ended and `ProcessOutputTooLarge` is thrown. Default: 1 MiB. */
  readonly maxStdoutBytes?: number | undefined;
  /** Bytes of the end of stderr that are kept. Default: 64 KiB. */
  readonly stderrTailBytes?: number | undefined;
  /** A descriptor of this process that is the child's stdin. Default: an empty stdin. */
  readonly stdin?: number | undefined;
  /** What the child reads from its stdin, as soon as it is known. */
  readonly input?: Promise<string> | undefined;
  /** Descriptors of this process that the child has from descriptor 3 on. */
  readonly descriptors?: readonly number[] | undefined;
}

export interface RunContainedResult {
  /** Exit code; `null` when a signal ended the child. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  /** The end of stderr. */
  readonly stderr: string;
}

const LAUNCHER_CANNOT_RUN = /^aana-launcher: cannot run .*?: (.*)$/m;
const EXIT_NO_COMMAND = 127;

/**
 * Runs a contained child to its end and returns its output. An exit code or a signal is a result, not an
 * error. Rejects with the signal's reason, `ProcessTimeout`, `ProcessMemoryTooLarge`, `ProcessOutputTooLarge` or
 * `CommandNotFound`. The child has always ended before the promise settles, so its files can be removed.
 */
export async function runContained(
  command: string,
  args: readonly string[],
  options: RunContainedOptions = {},
): Promise<RunContainedResult> {
  const { input, stdin = input ? 'pipe' : 'ignore', descriptors = [] } = options;
  const child = spawnContained(command, args, { ...options, stdio: [stdin, 'pipe', 'pipe', ...descriptors] });
  const maxStdoutBytes = options.maxStdoutBytes ?? 2 ** 20;
  const stderr = new Tail(options.stderrTailBytes ?? 2 ** 16);
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let failure: Error | undefined;
  const failWith = (error: Error): void => {
    failure ??= error;
    endChild(child, options.graceMs);
  };

  child.stdout?.on('data', (data: Buffer) => {
    if (failure) return;
    stdoutBytes += data.length;
    if (stdoutBytes > maxStdoutBytes) {
      failWith(fail('ProcessOutputTooLarge', `${command} wrote more than ${maxStdoutBytes} bytes of output`));
    } else {
      stdout.push(data);
    }
  });
  child.stderr?.on('data', (data: Buffer) => stderr.push(data));

  child.stdin?.on('error', () => {}); // a child may end before it has read everything
  void input?.then((text) => child.stdin?.end(text));

  const { timeoutMs, residentBytes } = options;
  if (residentBytes !== undefined) {
    watchMemory(child, residentBytes, () =>
      failWith(fail('ProcessMemoryTooLarge', `${command} used more than ${residentBytes} bytes of memory`)),
    );
  }
  const onTimeout = (): void => failWith(fail('ProcessTimeout', `${command} ran longer than ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
  try {
    const { code, signal } = await new Promise<Pick<RunContainedResult, 'code' | 'signal'>>((resolve, reject) => {
      child.once('error', (error) => reject(commandNotFound(command, error, error.message)));
      child.once('close', (code, signal) => resolve({ code, signal }));
      child.once('exit', () => {
        if (!failure && !options.signal?.aborted) return;
        child.stdout?.destroy(); // a grandchild may keep the streams open
        child.stderr?.destroy();
      });
    });
    options.signal?.throwIfAborted();
    if (failure) throw failure;
    const cannotRun = code === EXIT_NO_COMMAND ? LAUNCHER_CANNOT_RUN.exec(stderr.text()) : null;
    if (cannotRun) throw commandNotFound(command, undefined, cannotRun[1] ?? '');
    return { code, signal, stdout: Buffer.concat(stdout), stderr: stderr.text() };
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps the last `maxBytes` of all pushed data. */
class Tail {
  readonly #maxBytes: number;
  #held = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(data: Buffer): void {
    const all = Buffer.concat([this.#held, data]);
    this.#held = all.subarray(Math.max(0, all.length - this.#maxBytes));
  }

  text(): string {
    return this.#held.toString('utf8');
  }
}
