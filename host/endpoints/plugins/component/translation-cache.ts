import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomSuffix } from '../../../base/core/ids.ts';
import type { ModuleFacts } from './core-modules/prepare.ts';
import type { Capability } from '../capabilities/catalogue.ts';

/** The version of the cached files. */
export const cacheFormat = 7;

/** Facts about a translation, kept as members of its `package.json`. */
export interface CacheEntry {
  readonly imports: readonly string[];
  readonly uses: readonly Capability[];
  /** The core modules by file name. */
  readonly modules: Readonly<Record<string, ModuleFacts>>;
}

/** Returns an earlier translation. A folder is complete or absent, because it is renamed into place. */
export async function cached(dir: string): Promise<CacheEntry | undefined> {
  const text = await readFile(join(dir, 'package.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text).aana;
}

/** Stores a translation for further starts. */
export async function keep(
  dir: string,
  entry: CacheEntry,
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<void> {
  const temporary = `${dir}.${randomSuffix()}`;
  await mkdir(temporary, { recursive: true });
  try {
    await writeFile(join(temporary, 'package.json'), `${JSON.stringify({ type: 'module', aana: entry })}\n`);
    for (const [name, content] of Object.entries(files)) await writeFile(join(temporary, name), content);
    await rename(temporary, dir).catch(async (error: unknown) => {
      if (!(await cached(dir))) throw error; // otherwise another process was first, with the same content
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
