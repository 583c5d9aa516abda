import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { setPriority } from 'node:os';
import { isAbsolute } from 'node:path';
import { type AanaError, fail } from '../core/errors.ts';
import { type ProcessLimits, launcherArguments, launcherPath } from './launcher.ts';

export interface SpawnContainedOptions extends ProcessLimits {
  /** As in `child_process.spawn`; an `'ipc'` entry works. */
  readonly stdio?: StdioOptions | undefined;
  /** Environment of the child. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly cwd?: string | undefined;
  /** Ends the child when aborted: SIGTERM, and SIGKILL after `graceMs`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds between SIGTERM and SIGKILL; 0 kills at once. Default: 2000. */
  readonly graceMs?: number | undefined;
  /**
   * Whether the child leads its own process group, so that its descendants end with it, even when it is killed.
   * Default: the group of this process.
   */
  readonly ownGroup?: boolean | undefined;
  /** Launcher to use instead of the built one; `false` for none. */
  readonly launcher?: string | false | undefined;
}

const DEFAULT_GRACE_MS = 2000;

/** Children that lead a process group. */
const leaders = new WeakSet<ChildProcess>();

/**
 * Starts `command` with a lower priority and limits, so that it ends with this process, however this process ends
 * (Linux: the kernel's parent-death signal, which also reaches a stopped child). The child belongs to the calling
 * *thread* and is killed when that thread ends.
 *
 * Without the launcher it is an ordinary child with a lower priority and no limits. It then learns of the end of this
 * process only by the end of its stdin or IPC channel.
 *
 * Throws `CommandNotFound` for an absolute path that cannot be run. For a name that is not on the PATH, the child exits
 * with 127 and a sentence on stderr; without the launcher it emits `'error'`.
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
    child.once('exit', () => signalChild(child, 'SIGKILL')); // ends its descendants
  }
  if (options.signal) endOnAbort(child, options.signal, options.graceMs ?? DEFAULT_GRACE_MS);
  return child;
}

/** Ends a child with SIGTERM, and with SIGKILL after `graceMs`. Does nothing if it has already ended. */
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

/**
 * Stops a child until {@link continueChild}. It ends with this process all the same. Returns false where the system
 * cannot do that, and for a child that has ended.
 */
export function pauseChild(child: ChildProcess): boolean {
  if (process.platform === 'win32' || hasEnded(child)) return false;
  signalChild(child, 'SIGSTOP');
  return true;
}

export function continueChild(child: ChildProcess): void {
  if (!hasEnded(child)) signalChild(child, 'SIGCONT');
}

/** Sends a signal to the child, or to its group if it leads one. */
function signalChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (!leaders.has(child)) {
    child.kill(signal);
    return;
  }
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // no process is left
  }
}

export function commandNotFound(command: string, cause: unknown, detail: string): AanaError {
  return fail('CommandNotFound', `cannot run ${command}: ${detail}`, { data: { command }, cause });
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
    throw commandNotFound(command, error, missing ? 'the file does not exist' : 'it is not executable');
  }
}

function lowerPriority(child: ChildProcess, niceness: number | undefined): void {
  if (niceness === undefined || child.pid === undefined) return;
  try {
    setPriority(child.pid, Math.min(19, niceness));
  } catch {
    // the child has already ended, or the system forbids it
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
