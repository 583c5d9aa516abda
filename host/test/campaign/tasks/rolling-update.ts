import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { delay } from '../../../base/core/abort.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { HostKeeper } from './host-keeper.ts';
import type { Strikes } from './campaign.ts';

const MIGRATIONS = 'host/data/storage/migrations';
/** What differs between versions, and what finds its own package by its path. */
const COPIED = ['package.json', 'bundle', 'dist/host/base/core', 'dist/host/test/campaign/tasks', 'host/data/storage'];
const SHARED = ['build', 'node_modules', 'native', 'wit', 'host/bench', 'host/apis/http'];
const ATTEMPTS = 5;
const MOST_WAIT_MS = 60_000;

/** A package whose host has one more migration. Returns its folder and the number of the migration. */
export async function newerPackage(sql: string): Promise<{ readonly root: string; readonly number: number }> {
  const root = await mkdtemp(join(tmpdir(), 'aana-newer-'));
  for (const path of [...COPIED, ...SHARED]) await mkdir(dirname(join(root, path)), { recursive: true });
  for (const path of COPIED) await cp(join(packageRoot, path), join(root, path), { recursive: true });
  for (const path of SHARED) await symlink(join(packageRoot, path), join(root, path));
  const last = (await readdir(join(root, MIGRATIONS))).sort().at(-1) ?? '';
  const number = Number.parseInt(last, 10) + 1;
  await writeFile(join(root, MIGRATIONS, `${String(number).padStart(4, '0')}-newer.sql`), sql);
  return { root, number };
}

/**
 * Updates the last host to a newer package under load, and goes back to the older one on the newer tables. Each time it
 * waits until all hosts have begun further attempts.
 */
export const updateAndGoBack =
  (newer: string): Strikes =>
  async (hosts) => {
    await allRunTasks(hosts);
    for (const root of [newer, packageRoot]) {
      await hosts.at(-1)?.replace(root);
      await allRunTasks(hosts);
    }
    return { update: 1, return: 1 };
  };

async function allRunTasks(hosts: readonly HostKeeper[]): Promise<void> {
  const until = performance.now() + MOST_WAIT_MS;
  await Promise.all(
    hosts.map(async (host) => {
      const aim = (await host.begun()) + ATTEMPTS;
      while ((await host.begun()) < aim) {
        if (performance.now() > until) throw new Error(`a host runs no tasks; its log is ${host.logFile}`);
        await delay(50);
      }
    }),
  );
}
