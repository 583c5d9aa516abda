import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { setPriority } from 'node:os';
import { isAbsolute } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { type ProcessLimits, launcherArguments, launcherPath } from './launcher.ts';

export interface SpawnContainedOptions extends ProcessLimits {
  /** As in `child_process.spawn`; an `'ipc'` entry works. */
  readonly stdio?: StdioOptions | undefined;
  /** Absent: this process's environment. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly cwd?: string | undefined;
  /** Its abort ends the child: SIGTERM, and SIGKILL after `graceMs`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default 2000; 0 kills at once. */
  readonly graceMs?: number | undefined;
  /**
   * A process group of its own: what the child started ends with it, also when it is killed. Default: the group of this
   * process.
   */
  readonly ownGroup?: boolean | undefined;
  /** The launcher to use instead of the built one; `false` for none. */
  readonly launcher?: string | false | undefined;
}

const DEFAULT_GRACE_MS = 2000;

/** Children that lead a process group. */
const leaders = new WeakSet<ChildProcess>();

/**
 * Starts `command` so that it dies with this process however that ends (Linux: the kernel's parent-death signal, which
 * reaches a stopped child too), at a lower priority and inside limits. The child belongs to the calling *thread*: it is
 * killed when that ends.
 *
 * Where the launcher is absent it is an ordinary child with a lower priority and no limits, and the end of its stdin or
 * IPC channel is all that tells it of this process's death.
 *
 * Throws `CommandNotFound` for an absolute path that cannot be run. A name that PATH does not have: with the launcher
 * the child exits with 127 and a sentence on stderr, without it `'error'` is emitted.
 */
export function spawnContained(
  command: string,
  args: readonly string[],
  options: SpawnContainedOptions = {},
): ChildProcess {
  options.signal?.throwIfAborted();
  requireExecutable(command);
  const launcher = options.launcher === undefined ? launcherPath() : options.launcher || undefined;
  const child = launcher
    ? spawn(launcher, [...launcherArguments(options, process.pid), command, ...args], spawnOptions(options))
    : spawn(command, args, spawnOptions(options));
  if (!launcher) lowerPriority(child, options.nice);
  if (options.ownGroup && process.platform !== 'win32') {
    leaders.add(child);
    child.once('exit', () => signalChild(child, 'SIGKILL')); // whom it left behind
  }
  if (options.signal) endOnAbort(child, options.signal, options.graceMs ?? DEFAULT_GRACE_MS);
  return child;
}

/** SIGTERM, then SIGKILL to a child that has not ended after `graceMs`; does nothing to one that has. */
export function endChild(child: ChildProcess, graceMs: number = DEFAULT_GRACE_MS): void {
  if (hasEnded(child)) return;
  if (graceMs <= 0) {
    signalChild(child, 'SIGKILL');
    return;
  }
  signalChild(child, 'SIGTERM');
  const timer = setTimeout(() => signalChild(child, 'SIGKILL'), graceMs);
  child.once('exit', () => clearTimeout(timer));
}

/** To its group, if it leads one. */
function signalChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (!leaders.has(child)) {
    child.kill(signal);
    return;
  }
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // nobody is left
  }
}

export function commandNotFound(command: string, cause: unknown, detail: string): AanaError {
  return new AanaError('CommandNotFound', 'internal', `cannot run ${command}: ${detail}`, { data: { command }, cause });
}

function spawnOptions(options: SpawnContainedOptions): {
  stdio: StdioOptions;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  detached?: true;
  windowsHide: true;
} {
  return {
    stdio: options.stdio ?? 'pipe',
    windowsHide: true,
    ...(options.ownGroup && process.platform !== 'win32' && { detached: true as const }),
    ...(options.env && { env: options.env }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  };
}

function requireExecutable(command: string): void {
  if (!isAbsolute(command)) return;
  try {
    accessSync(command, constants.X_OK);
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw commandNotFound(command, error, missing ? 'there is no such file' : 'it is not executable');
  }
}

function lowerPriority(child: ChildProcess, niceness: number | undefined): void {
  if (niceness === undefined || child.pid === undefined) return;
  try {
    setPriority(child.pid, Math.min(19, niceness));
  } catch {
    // it has ended already, or this system does not let us
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function endOnAbort(child: ChildProcess, signal: AbortSignal, graceMs: number): void {
  const onAbort = (): void => endChild(child, graceMs);
  signal.addEventListener('abort', onAbort, { once: true });
  const release = (): void => signal.removeEventListener('abort', onAbort);
  child.once('exit', release);
  child.once('error', release);
}
