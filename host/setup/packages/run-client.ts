import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { beforeSignals } from './before-signals.ts';

export interface RunClientOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
  /** Folder whose growth shows the client's progress. */
  readonly watchDir: string;
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Milliseconds without growth after which the client is ended. Default: only the client's own time limits apply. */
  readonly stallMs?: number | undefined;
}

export type ClientResult =
  | { readonly state: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly state: 'missing' }
  | { readonly state: 'stalled' };

const POLL_MS = 250;
const KILL_AFTER_MS = 2_000;
const MAX_OUTPUT = 256 * 1024;

/**
 * Runs a registry's client in its own process group. Ends the whole group on abort, on a stall and when this process
 * ends.
 */
export async function runClient(
  command: string,
  args: readonly string[],
  options: RunClientOptions,
): Promise<ClientResult> {
  const { signal } = options;
  signal?.throwIfAborted();
  const windows = process.platform === 'win32'; // npm is a .cmd file there, which only a shell runs
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !windows,
    shell: windows,
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8');
    child[name]?.on('data', (text: string) => {
      output[name] = (output[name] + text).slice(-MAX_OUTPUT);
    });
  }
  let stalled = false;
  const stop = (): void => endGroup(child);
  const unwatch = watchGrowth(options, () => {
    stalled = true;
    stop();
  });
  const unbind = endWithThisProcess(child);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const code = await new Promise<number | null | 'missing'>((resolve, reject) => {
      child.once('error', (error) => ('code' in error && error.code === 'ENOENT' ? resolve('missing') : reject(error)));
      child.once('close', (exitCode) => resolve(exitCode));
    });
    signal?.throwIfAborted();
    if (code === 'missing') return { state: 'missing' };
    if (stalled) return { state: 'stalled' };
    return { state: 'exited', code, ...output };
  } finally {
    signal?.removeEventListener('abort', stop);
    unbind();
    unwatch();
  }
}

/** Returns the bytes of all files below `dir`. Files may appear and disappear at the same time. */
export async function sizeOfTree(dir: string): Promise<number> {
  let sum = 0;
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) sum += await sizeOfTree(full);
    else if (entry.isFile()) sum += (await stat(full).catch(() => undefined))?.size ?? 0;
  }
  return sum;
}

function watchGrowth(options: RunClientOptions, onStall: () => void): () => void {
  let largest = 0;
  let grewMs = performance.now();
  let busy = false;
  let isOver = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    const bytes = await sizeOfTree(options.watchDir);
    busy = false;
    if (isOver) return; // progress must not follow the caller's last report
    if (bytes > largest) {
      largest = bytes;
      grewMs = performance.now();
      options.onProgress?.(bytes);
    } else if (options.stallMs !== undefined && performance.now() - grewMs > options.stallMs) {
      onStall();
    }
  };
  const timer = setInterval(() => void look(), POLL_MS); // reading sizes never throws
  timer.unref();
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

function endGroup(child: ChildProcess): void {
  kill(child, 'SIGTERM');
  const later = setTimeout(() => kill(child, 'SIGKILL'), KILL_AFTER_MS);
  child.once('close', () => clearTimeout(later));
}

function kill(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(name);
    else process.kill(-child.pid, name);
  } catch {
    // already gone
  }
}

/**
 * Passes signals on to the group, because it does not get the terminal's Ctrl-C. If nobody else handles the signal, it
 * then ends this process, too.
 */
function endWithThisProcess(child: ChildProcess): () => void {
  const onExit = (): void => kill(child, 'SIGKILL');
  const releaseSignals = beforeSignals((name, isAlone) => {
    kill(child, 'SIGTERM');
    if (!isAlone) return;
    unbind();
    process.kill(process.pid, name);
  });
  process.on('exit', onExit);
  const unbind = (): void => {
    process.off('exit', onExit);
    releaseSignals();
  };
  return unbind;
}

/** Returns the error for a client that is not installed. */
export function missingClient(what: string, install: string): AanaError {
  return fail('DownloadFailed', `${what} is required but was not found: ${install}`);
}
