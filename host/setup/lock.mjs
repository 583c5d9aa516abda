import fs from 'node:fs/promises';
import path from 'node:path';

/** Whether the process that wrote the lock still runs. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Removes the lock when its owner is gone; true when the caller should try again at once. */
async function breakStale(file) {
  const owner = Number(await fs.readFile(file, 'utf8').catch(() => ''));
  if (owner > 0 ? isAlive(owner) : Date.now() - ((await fs.stat(file).catch(() => undefined))?.mtimeMs ?? 0) < 2000) return false;
  await fs.rm(file, { force: true });
  return true;
}

/**
 * Runs `work` while no other process of this checkout does.
 * @param {string} file the lock: it holds the owner's pid
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
      await handle.writeFile(String(process.pid));
      await handle.close();
      break;
    }
    if (await breakStale(file)) continue;
    if (!said) process.stderr.write(`${waiting}…\n`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    await work();
  } finally {
    await fs.rm(file, { force: true });
  }
}
