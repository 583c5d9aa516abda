import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { delay } from '../core/abort.ts';
import { newId } from '../core/ids.ts';

export interface FileLockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once if another process (or another caller in this one) holds the lock. */
  readonly onWait?: ((holder: { readonly pid: number | undefined }) => void) | undefined;
}

interface Holder {
  readonly pid: number;
  /** Start of the process in the kernel's ticks; with it a reused pid is told apart. Empty where the system does not say. */
  readonly started: string;
  readonly host: string;
  readonly token: string;
}

const POLL_MS = 100;
const HEARTBEAT_MS = 5_000;
/** A holder on another machine, or one that died while it wrote the file, is given up when its heartbeat is this old. */
const SILENT_MS = 60_000;
const BREAKING_MS = 10_000;

/**
 * Runs `fn` while holding `lockPath`, which no other process on this machine (or on one that shares the folder) then holds.
 * A lock left by a dead process is broken. The file is removed on every path; folders above it are made.
 */
export async function withFileLock<T>(lockPath: string, fn: () => Promise<T>, options: FileLockOptions = {}): Promise<T> {
  const token = newId();
  await mkdir(path.dirname(lockPath), { recursive: true });
  await acquire(lockPath, token, options);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(lockPath, now, now).catch(() => {}); // the release below races with it, harmlessly
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await fn();
  } finally {
    clearInterval(heartbeat);
    const holder = await readHolder(lockPath);
    if (holder?.token === token) await rm(lockPath, { force: true });
  }
}

async function acquire(lockPath: string, token: string, { signal, onWait }: FileLockOptions): Promise<void> {
  const self: Holder = { pid: process.pid, started: startOf(process.pid), host: hostname(), token };
  let told = false;
  for (;;) {
    signal?.throwIfAborted();
    try {
      await writeFile(lockPath, JSON.stringify(self), { flag: 'wx' });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    if (await breakIfStale(lockPath)) continue;
    if (!told) {
      told = true;
      onWait?.({ pid: (await readHolder(lockPath))?.pid });
    }
    await delay(POLL_MS, signal);
  }
}

/** True when the lock is gone, by us or by itself. A guard folder keeps two breakers from removing each other's new lock. */
async function breakIfStale(lockPath: string): Promise<boolean> {
  if (!(await isStale(lockPath))) return false;
  const guard = `${lockPath}.breaking`;
  try {
    await mkdir(guard);
  } catch {
    const ageMs = await ageOf(guard);
    if (ageMs !== undefined && ageMs > BREAKING_MS) await rmdir(guard).catch(() => {});
    return false;
  }
  try {
    if (await isStale(lockPath)) await rm(lockPath, { force: true });
    return true;
  } finally {
    await rmdir(guard).catch(() => {});
  }
}

async function isStale(lockPath: string): Promise<boolean> {
  const holder = await readHolder(lockPath);
  const ageMs = await ageOf(lockPath);
  if (ageMs === undefined) return false; // released meanwhile: the next attempt gets it
  if (!holder || holder.host !== hostname()) return ageMs > SILENT_MS;
  return !isAlive(holder);
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return startOf(holder.pid) === holder.started;
}

/** Field 22 of /proc/PID/stat. */
function startOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

async function readHolder(lockPath: string): Promise<Holder | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(lockPath, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('pid' in parsed) || !('token' in parsed)) return undefined;
    const { pid, token } = parsed;
    const started = 'started' in parsed ? String(parsed.started) : '';
    const host = 'host' in parsed ? String(parsed.host) : '';
    return typeof pid === 'number' ? { pid, token: String(token), started, host } : undefined;
  } catch {
    return undefined;
  }
}

async function ageOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found && Date.now() - found.mtimeMs;
}
