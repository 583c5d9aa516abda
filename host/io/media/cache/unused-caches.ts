import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from '../../../base/core/log/logger.ts';

/** The name of a folder that a cache has beside others. */
const NAME = /^[0-9a-f]{32}$/;
/** A host marks its cache once an hour, so one that is older belongs to no running host. */
const LEAST_MS = 86_400_000;

/**
 * Marks the cache in `folder` as used, and removes those beside it that no host has marked for `unusedMs`, and for a
 * day: their database has moved or is gone. A folder that cannot be removed stays and is logged.
 */
export async function removeUnusedCaches(folder: string, unusedMs: number, now: number, log: Logger): Promise<void> {
  await utimes(folder, now / 1000, now / 1000).catch(() => {}); // it may not exist yet
  const parent = dirname(folder);
  for (const name of await readdir(parent).catch(() => [])) {
    if (!NAME.test(name) || name === basename(folder)) continue;
    const other = join(parent, name);
    try {
      if (now - (await stat(other)).mtimeMs < Math.max(unusedMs, LEAST_MS)) continue;
      await rm(other, { recursive: true, force: true });
      log.info('unused cache of media removed', { folder: other });
    } catch (error) {
      log.warn('unused cache of media not removed', { folder: other, error });
    }
  }
}
