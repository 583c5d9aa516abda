import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { boundedEach } from '../../../base/core/async/bounded-each.ts';
import { Limiter } from '../../../base/core/async/limiter.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { diskReserve } from '../../../base/core/machine/disk-room.ts';
import { ProcessFolder, removeStaleFolders } from '../../artifacts/index.ts';
import { type CacheEntry, CacheIndex, type CacheLimits } from './cache-index.ts';
import { removeUnusedCaches } from './unused-caches.ts';

export interface MediaCacheOptions extends CacheLimits {
  /** The folder of the cache. Hosts that have the same users may share it. */
  readonly folder: string;
  /** An entry that was not used for so long goes. */
  readonly unusedMs: number;
  readonly log: Logger;
  /** Called with the bytes of all files when they change. */
  readonly onSize?: ((bytes: number) => void) | undefined;
  /** Returns milliseconds since 1970. Default: the clock of the system. */
  readonly now?: (() => number) | undefined;
}

/** A URL of a user, as names of a folder and of a file. */
export type CacheKey = Pick<CacheEntry, 'user' | 'url'>;

const KeptFile = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(0),
  fields: z.record(z.string(), z.string()),
  requestedAt: z.number(),
  receivedAt: z.number(),
});

/** A file with the answer that brought it. */
export type KeptFile = z.infer<typeof KeptFile>;

/** A file that no entry has goes after this time. Another host may just be writing its entry. */
const ORPHAN_MS = 600_000;
/** Entries that are read at the same time. */
const READS = 8;

/**
 * Files by their SHA-256 in `files/`. In `entries/`, a small file for each URL of each user names one of them.
 * Whoever gets a file gets a hard link to it in the folder of its own process. So the file stays whatever happens to
 * the cache, also by another host. Everything is written elsewhere and renamed, so a crash leaves whole files or none.
 * What is damaged nevertheless is dropped when it is met. The times of entries say when they were used.
 */
export class MediaCache {
  readonly #options: MediaCacheOptions;
  readonly #own: ProcessFolder;
  /** Files that this process has written, or read to their end and found whole. */
  readonly #checked = new Set<string>();
  /** Changes are made one after the other. */
  readonly #changes = new Limiter(1);
  readonly #failures = new Set<string>();
  #index: CacheIndex | undefined;
  /** The reading of all entries that runs. */
  #reading: Promise<CacheIndex> | undefined;
  /** Of each cleaning that runs, the entries that have changed since it began to read. */
  readonly #changed = new Set<Map<string, CacheKey>>();

  constructor(options: MediaCacheOptions) {
    this.#options = options;
    this.#own = new ProcessFolder(options.folder);
  }

  now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Returns the path of a new file beside the cache, which may be put into it. Rejects if none can be made there. */
  async newPath(): Promise<string> {
    return join(await this.#own.path(), randomSuffix());
  }

  /**
   * Links the kept file of a key to the new file `path`. Returns undefined without one. Rejects only with the reason
   * of the signal.
   */
  async take(key: CacheKey, path: string, signal: AbortSignal): Promise<KeptFile | undefined> {
    const kept = await this.#read(key);
    if (!kept) return undefined;
    if (!(await this.#linkWhole(kept, path, signal))) {
      await this.#change('media not forgotten', (index) => this.#remove(index, key, kept.sha256));
      return undefined;
    }
    const usedAt = this.now();
    await utimes(this.#entry(key), usedAt / 1000, usedAt / 1000).catch(() => {}); // another host may have removed it
    this.#index?.use(key.user, key.url, usedAt);
    this.#noteChange(key);
    return kept;
  }

  /** Keeps the file at `path`, which nobody may change any more. Never rejects. */
  async put(key: CacheKey, kept: KeptFile, path: string): Promise<void> {
    await this.#change('media not kept', async (index) => {
      if (!index.hasRoomFor(kept.bytes)) return this.#remove(index, key);
      const before = await this.#read(key);
      await this.#place('files', kept.sha256, (made) => link(path, made));
      this.#checked.add(kept.sha256);
      const usedAt = this.now();
      await this.#place(join('entries', key.user), key.url, async (made) => {
        await writeFile(made, JSON.stringify(kept), { flag: 'wx', mode: 0o600 });
        await utimes(made, usedAt / 1000, usedAt / 1000);
      });
      index.put({ usedAt, ...key, ...sizeOf(kept) });
      this.#noteChange(key);
      if (before) await this.#unused(index, before.sha256);
      await this.#dropped(index, index.evict());
    });
  }

  /** Removes an entry, and its file if no other entry has it. Never rejects. */
  async forget(key: CacheKey): Promise<void> {
    await this.#change('media not forgotten', (index) => this.#remove(index, key));
  }

  /**
   * Removes what was used least recently until the disk has room for so many bytes. What does not help stays. Never
   * rejects.
   */
  async makeRoom(bytes: number): Promise<void> {
    const missing = bytes - ((await diskReserve(this.#options.folder))?.room ?? Infinity);
    if (missing <= 0) return;
    await this.#change('no room made', async (index) => {
      if (missing > index.bytes) return; // a server may say any length, and others may have filled the disk
      await this.#dropped(index, index.evict(index.bytes - missing));
    });
  }

  /**
   * Removes what is damaged or not used any more, and what dead processes left, and learns what other hosts have
   * changed. Never rejects.
   */
  async clean(): Promise<void> {
    const { folder, unusedMs, log } = this.#options;
    await removeStaleFolders(folder, log);
    await removeUnusedCaches(folder, unusedMs, this.now(), log);
    const changed = new Map<string, CacheKey>();
    this.#changed.add(changed);
    const reading = this.#readAll();
    await reading.catch(() => {}); // many entries take seconds, in which files are kept and removed
    await this.#change('media not cleaned', async () => {
      const index = await reading;
      for (const key of changed.values()) await this.#reread(index, key);
      this.#index = index;
      await this.#dropped(index, index.evict());
      await this.#removeOrphans(index);
    });
    this.#changed.delete(changed);
  }

  /** Removes the files of this process that are not in the cache, and the folders of an empty cache. */
  async close(): Promise<void> {
    const { folder } = this.#options;
    await this.#changes.run(async () => {
      await this.#own.remove();
      for (const path of [join(folder, 'entries'), join(folder, 'files'), folder]) await rmdir(path).catch(() => {});
    });
  }

  /**
   * Runs a change after those before it. A failure is logged, because a request can do without the cache: the first one
   * of a kind, because a folder may have the same fault at each request.
   */
  async #change(failure: string, change: (index: CacheIndex) => Promise<void>): Promise<void> {
    await this.#changes.run(async () => {
      try {
        this.#index ??= await this.#readAll();
        await change(this.#index);
        this.#failures.delete(failure);
        this.#options.onSize?.(this.#index.bytes);
      } catch (error) {
        if (!this.#failures.has(failure)) this.#options.log.warn(failure, { error });
        this.#failures.add(failure);
      }
    });
  }

  /** Removes an entry, or only an entry with this file. */
  async #remove(index: CacheIndex, key: CacheKey, sha256?: string): Promise<void> {
    const kept = await this.#read(key);
    if (kept && sha256 !== undefined && kept.sha256 !== sha256) return;
    await remove(this.#entry(key));
    index.remove(key.user, key.url);
    this.#noteChange(key);
    if (kept) await this.#unused(index, kept.sha256);
  }

  /** Removes the files of entries that left the index. */
  async #dropped(index: CacheIndex, entries: readonly CacheEntry[]): Promise<void> {
    for (const entry of entries) {
      await remove(this.#entry(entry));
      this.#noteChange(entry);
      await this.#unused(index, entry.sha256);
    }
  }

  async #unused(index: CacheIndex, sha256: string): Promise<void> {
    if (index.hasFile(sha256)) return;
    await remove(this.#file(sha256));
    this.#checked.delete(sha256);
  }

  /** Tells the cleanings that run, which may have read the entry already. */
  #noteChange({ user, url }: CacheKey): void {
    for (const changed of this.#changed) changed.set(`${user}/${url}`, { user, url });
  }

  /** Puts an entry into an index that was read before it changed. */
  async #reread(index: CacheIndex, key: CacheKey): Promise<void> {
    const kept = await this.#read(key);
    if (kept) index.put({ usedAt: this.now(), ...key, ...sizeOf(kept) });
    else index.remove(key.user, key.url);
  }

  /** Also for changes before the first reading has ended. */
  #readAll(): Promise<CacheIndex> {
    this.#reading ??= this.#scan().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** Reads all entries, and removes those without a whole file and those that are old. */
  async #scan(): Promise<CacheIndex> {
    const { folder, unusedMs } = this.#options;
    const found: CacheEntry[] = [];
    const never = new AbortController().signal;
    for (const user of await namesIn(join(folder, 'entries')))
      await boundedEach(await namesIn(join(folder, 'entries', user)), READS, never, async (url) => {
        const kept = await this.#read({ user, url });
        const file = kept && (await stat(this.#file(kept.sha256)).catch(() => undefined));
        const usedAt = await stat(this.#entry({ user, url })).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        );
        if (kept && file?.size === kept.bytes && this.now() - usedAt < unusedMs)
          found.push({ user, url, ...sizeOf(kept), usedAt });
        else if ((await this.#read({ user, url }))?.sha256 === kept?.sha256) await remove(this.#entry({ user, url }));
      });
    const index = new CacheIndex(this.#options);
    for (const entry of found.sort((one, other) => one.usedAt - other.usedAt)) index.put(entry);
    return index;
  }

  /** Removes the files that no entry has, and the folders of users without entries. */
  async #removeOrphans(index: CacheIndex): Promise<void> {
    const { folder } = this.#options;
    for (const sha256 of await namesIn(join(folder, 'files'))) {
      if (index.hasFile(sha256)) continue;
      const file = await stat(this.#file(sha256)).catch(() => undefined);
      if (file && this.now() - file.ctimeMs > ORPHAN_MS) await this.#unused(index, sha256);
    }
    for (const user of await namesIn(join(folder, 'entries')))
      await rmdir(join(folder, 'entries', user)).catch(() => {}); // it has entries
  }

  /** Returns what an entry says; undefined where it is missing or damaged. */
  async #read(key: CacheKey): Promise<KeptFile | undefined> {
    try {
      return KeptFile.parse(JSON.parse(await readFile(this.#entry(key), 'utf8')));
    } catch {
      return undefined;
    }
  }

  /**
   * Links a kept file to `path`. Returns false, and removes what is there, if it is not what was kept. Its bytes are
   * compared once by each process, because the loss of power may leave a file of the right length with other bytes.
   */
  async #linkWhole({ sha256, bytes }: KeptFile, path: string, signal: AbortSignal): Promise<boolean> {
    const file = this.#file(sha256);
    try {
      await link(file, path);
      if (
        (await stat(path)).size === bytes &&
        (this.#checked.has(sha256) || (await digestOf(path, signal)) === sha256)
      ) {
        this.#checked.add(sha256);
        return true;
      }
      this.#options.log.warn('a kept file is damaged, and is removed', { sha256 });
      this.#checked.delete(sha256);
      await remove(file); // its other entries are dropped when they are met
    } catch (error) {
      signal.throwIfAborted();
      this.#options.log.debug('a kept file cannot be used', { sha256, error }); // another host may have removed it
    }
    await rm(path, { force: true });
    return false;
  }

  /** Makes a file with a name in a folder of the cache, in place of one that is there. */
  async #place(folder: string, name: string, make: (path: string) => Promise<void>): Promise<void> {
    const made = await this.newPath();
    await mkdir(join(this.#options.folder, folder), { recursive: true, mode: 0o700 });
    try {
      await make(made);
      await rename(made, join(this.#options.folder, folder, name)); // so that no reader sees a part of it
    } finally {
      await rm(made, { force: true }); // also after a rename to the same file, which does nothing
    }
  }

  #file(sha256: string): string {
    return join(this.#options.folder, 'files', sha256);
  }

  #entry({ user, url }: CacheKey): string {
    return join(this.#options.folder, 'entries', user, url);
  }
}

const sizeOf = ({ sha256, bytes }: KeptFile): Pick<CacheEntry, 'sha256' | 'bytes'> => ({ sha256, bytes });

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Removes a file, or a folder that somebody has put in its place. */
const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
