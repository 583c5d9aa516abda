// Plain JavaScript, because host/bootstrap/ takes the same lock before anything is compiled.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {object} FileLockOptions
 * @property {AbortSignal | undefined} [signal]
 * @property {((holder: { readonly pid: number | undefined }) => void) | undefined} [onWait] Called once if another
 *   process, or another caller in this one, holds the lock.
 */

/**
 * @typedef {object} Holder
 * @property {number} pid
 * @property {string} started Start of the process in the kernel's ticks, which distinguishes it from a later process
 * with the same pid. Empty if the system does not report it.
 * @property {string} host
 * @property {string} token
 */

const POLL_MS = 100;
const HEARTBEAT_MS = 5_000;
/**
 * Age of the heartbeat after which a holder on another machine, or one that died while it wrote the file, counts as
 * dead.
 */
const SILENT_MS = 60_000;
const BREAKING_MS = 10_000;

/**
 * Runs `work` while it holds the lock `lockPath`. No other process on this machine, or on one that shares the folder,
 * can hold it at the same time. Breaks locks of dead processes. Always removes the file afterwards, and creates missing
 * parent folders.
 * @template T
 * @param {string} lockPath
 * @param {() => Promise<T>} work
 * @param {FileLockOptions} [options]
 * @returns {Promise<T>}
 */
export async function withFileLock(lockPath, work, options = {}) {
  const token = randomUUID();
  await mkdir(path.dirname(lockPath), { recursive: true });
  await acquire(lockPath, token, options);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(lockPath, now, now).catch(() => {}); // a race with the release below is harmless
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    const holder = await readHolder(lockPath);
    if (holder?.token === token) await rm(lockPath, { force: true });
  }
}

/**
 * @param {string} lockPath
 * @param {string} token
 * @param {FileLockOptions} options
 */
async function acquire(lockPath, token, { signal, onWait }) {
  /** @type {Holder} */
  const self = { pid: process.pid, started: startOf(process.pid), host: hostname(), token };
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
    await delay(POLL_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

/**
 * Returns true when the lock is gone, removed by this call or by others. A guard folder prevents two breakers from
 * removing each other's new lock.
 * @param {string} lockPath
 */
async function breakIfStale(lockPath) {
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

/** @param {string} lockPath */
async function isStale(lockPath) {
  const holder = await readHolder(lockPath);
  const ageMs = await ageOf(lockPath);
  if (ageMs === undefined) return false; // it was released; the next attempt gets it
  if (!holder || holder.host !== hostname()) return ageMs > SILENT_MS;
  return !isAlive(holder);
}

/** @param {Holder} holder */
function isAlive(holder) {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return startOf(holder.pid) === holder.started;
}

/**
 * Returns field 22 of /proc/PID/stat.
 * @param {number} pid
 */
function startOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} lockPath
 * @returns {Promise<Holder | undefined>}
 */
async function readHolder(lockPath) {
  try {
    /** @type {unknown} */
    const parsed = JSON.parse(await readFile(lockPath, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('pid' in parsed) || !('token' in parsed)) return undefined;
    const { pid, token } = parsed;
    const started = 'started' in parsed ? String(parsed.started) : '';
    const host = 'host' in parsed ? String(parsed.host) : '';
    return typeof pid === 'number' ? { pid, token: String(token), started, host } : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} file */
async function ageOf(file) {
  const found = await stat(file).catch(() => undefined);
  return found && Date.now() - found.mtimeMs;
}
