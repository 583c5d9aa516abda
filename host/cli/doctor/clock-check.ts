import { randomBytes } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, type CheckResult, fail, ok, warn } from './check.ts';
import { nearest } from './folders-check.ts';

/** Differences that matter to leases, expiry of keys and signatures. */
const LARGE_MS = 5000;
const WRONG_MS = 300_000;

/** Compares the clock with the times of files. The check of PostgreSQL compares it with the clock of the server. */
export const clockCheck: Check = {
  name: 'clock',
  needsConfig: true,
  run: async ({ config }) => {
    const now = new Date();
    const path = config.db_config.datastore_config.path;
    const written = await Promise.all(
      path === null ? [] : [path, `${path}-wal`].map((file) => stat(file).catch(() => undefined)),
    );
    const last = Math.max(...written.map((found) => found?.mtimeMs ?? 0), 0);
    if (last - now.getTime() > LARGE_MS)
      return [
        warn(
          'clock',
          `${now.toISOString()}, but the database was written at ${new Date(last).toISOString()}`,
          'set the clock; leases and expiry dates depend on it',
        ),
      ];
    const { folder } = await nearest(config.data_dir);
    const offset = await fileSystemOffset(folder).catch(() => 0); // the check of the folder reports it
    return [offsetResult('the file system of data_dir', offset, now)];
  },
};

/** Returns the result for a clock that is behind another one by `offsetMs`. */
export function offsetResult(of: string, offsetMs: number, now = new Date()): CheckResult {
  const found =
    `${now.toISOString()}, ${(Math.abs(offsetMs) / 1000).toFixed(1)} s ` +
    `${offsetMs < 0 ? 'ahead of' : 'behind'} ${of}`;
  if (Math.abs(offsetMs) < LARGE_MS) return ok('clock', `${now.toISOString()}, as ${of}`);
  const advice = 'synchronise the clocks (NTP); leases, expiry dates and signatures depend on them';
  return Math.abs(offsetMs) < WRONG_MS ? warn('clock', found, advice) : fail('clock', found, advice);
}

/** Returns by how many milliseconds the file system, which may be on another machine, is ahead of this clock. */
async function fileSystemOffset(folder: string): Promise<number> {
  const file = join(folder, `.aana-doctor-${randomBytes(6).toString('hex')}`);
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile('clock');
    return (await handle.stat()).mtimeMs - Date.now();
  } finally {
    await handle.close();
    await rm(file, { force: true });
  }
}
