import fs from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import path from 'node:path';

// The same scheme as host/packages/file-lock.ts, which cannot be used before it is compiled.

const POLL_MS = 200;
/** A lock without an owner's name is one that is being written, unless it is older than this. */
const WRITING_MS = 10_000;
const BREAKING_MS = 10_000;

/** Field 22 of /proc/PID/stat: tells a process from a later one with the same id. Empty where the system does not say. */
function startOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function isAlive(pid, started) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
  return startOf(pid) === started;
}

async function ageOf(file) {
  const found = await fs.stat(file).catch(() => undefined);
  return found && Date.now() - found.mtimeMs;
}

async function isStale(file) {
  const [pid = '', started = ''] = (await fs.readFile(file, 'utf8').catch(() => '')).split(' ');
  return Number(pid) > 0 ? !isAlive(Number(pid), started) : ((await ageOf(file)) ?? 0) > WRITING_MS;
}

/** Removes the lock when its owner is gone; true when the caller should try again at once. A guard folder keeps two breakers from removing each other's new lock. */
async function breakStale(file) {
  if (!(await isStale(file))) return false;
  const guard = `${file}.breaking`;
  try {
    await fs.mkdir(guard);
  } catch {
    if (((await ageOf(guard)) ?? 0) > BREAKING_MS) await fs.rmdir(guard).catch(() => {});
    return false;
  }
  try {
    if (await isStale(file)) await fs.rm(file, { force: true });
    return true;
  } finally {
    await fs.rmdir(guard).catch(() => {});
  }
}

/**
 * Runs `work` while no other process of this checkout does.
 * @param {string} file the lock: it holds the owner's pid and when that process started
 * @param {string} waiting said once when somebody else has it
 * @param {() => Promise<void>} work
 */
export async function withLock(file, waiting, work) {
  await fs.mkdir(path.dirname(file), { recursive: true });
  let said = false;
  for (;;) {
    const handle = await fs.open(file, 'wx').catch((error) => {
      if (error.code === 'EEXIST') return undefined;
      throw error;
    });
    if (handle) {
      await handle.writeFile(`${process.pid} ${startOf(process.pid)}`);
      await handle.close();
      break;
    }
    if (await breakStale(file)) continue;
    if (!said) process.stderr.write(`${waiting}…\n`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  try {
    await work();
  } finally {
    await fs.rm(file, { force: true });
  }
}
