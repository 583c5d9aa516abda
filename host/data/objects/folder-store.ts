import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, opendir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { randomSuffix } from '../../base/core/ids.ts';
import { syncFile, syncMadeFolders } from '../storage/index.ts';
import { Hashed } from './hashed.ts';
import {
  type ListedObject,
  type LocalCopy,
  LostObject,
  type ObjectStore,
  requireSame,
  type StoredObject,
  type Written,
} from './object-store.ts';

/** Bytes that are hashed at a time, in a fraction of a millisecond of the thread. */
const CHUNK_BYTES = 256 * 1024;
const PARTIAL = /\.[0-9a-f]{12}\.partial$/;

/** Objects as files in a folder, which the hosts of a database share. A key is the path of its file. */
export class FolderStore implements ObjectStore {
  readonly address: string;

  constructor(dir: string) {
    this.address = dir;
  }

  localRoot(folder: string): string {
    return this.#pathOf(folder);
  }

  async put({ key }: StoredObject, from: string): Promise<void> {
    await this.#place(key, async (path, made) => {
      const isMoved = await rename(from, path).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EXDEV') throw error; // another file system
          return false;
        },
      );
      if (!isMoved) await this.#whole(path, (partial) => copyFile(from, partial));
      else await syncFile(path);
      await syncMadeFolders(dirname(path), made);
      if (!isMoved) await rm(from, { force: true });
    });
  }

  async write(key: string, chunks: AsyncIterable<string | Buffer>): Promise<Written> {
    const hashed = new Hashed();
    await this.#place(key, async (path, made) => {
      await this.#whole(path, (partial) => {
        const file = createWriteStream(partial, { flags: 'wx', mode: 0o600 });
        return pipeline(chunks, (given) => hashed.through(given), file);
      });
      await syncMadeFolders(dirname(path), made);
    });
    return hashed.end();
  }

  /** Reads all bytes before they are used, because a file may lie for years. The copy is the file itself. */
  async fetch(object: StoredObject, signal?: AbortSignal): Promise<LocalCopy> {
    const path = this.#pathOf(object.key);
    const hashed = new Hashed();
    try {
      const found = await stat(path);
      if (!found.isFile()) throw new LostObject('it is not a file');
      if (found.size !== object.bytes) throw new LostObject(`it has ${found.size} bytes, not ${object.bytes}`);
      if (object.sha256 !== undefined) {
        for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, signal }))
          hashed.add(chunk as Buffer);
        requireSame(object, hashed.end());
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LostObject) throw error;
      throw new LostObject(`it cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
    }
    return { path, [Symbol.asyncDispose]: async () => {} };
  }

  /** Also removes the folder of the file if it is empty then, except one of the folders of the store. */
  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await rm(path, { force: true, maxRetries: 3 });
    if (key.split('/').length > 2) await rmdir(dirname(path)).catch(() => {});
  }

  async *list(folder: string): AsyncGenerator<ListedObject, void> {
    for await (const { key, modifiedAt } of this.#files(folder)) if (!PARTIAL.test(key)) yield { key, modifiedAt };
  }

  async removeUnfinished(folder: string, before: number): Promise<void> {
    for await (const { key, modifiedAt } of this.#files(folder))
      if (PARTIAL.test(key) && modifiedAt < before) await this.remove(key);
  }

  close(): void {}

  async *#files(folder: string): AsyncGenerator<ListedObject, void> {
    const entries = await opendir(this.#pathOf(folder)).catch(() => []);
    for await (const entry of entries) {
      const key = `${folder}/${entry.name}`;
      if (entry.isDirectory()) yield* this.#files(key);
      const found = entry.isFile() ? await stat(this.#pathOf(key)).catch(() => undefined) : undefined;
      if (found) yield { key, modifiedAt: found.mtimeMs };
    }
  }

  /** Makes the folder of a file, and removes what `place` leaves when it fails. */
  async #place(key: string, place: (path: string, made: string | undefined) => Promise<void>): Promise<void> {
    const path = this.#pathOf(key);
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await place(path, made);
    } catch (error) {
      await this.remove(key);
      throw error;
    }
  }

  /** Fills a file under another name, syncs it, and gives it its name. */
  async #whole(path: string, fill: (partial: string) => Promise<void>): Promise<void> {
    const partial = join(dirname(path), `${basename(path)}.${randomSuffix()}.partial`);
    try {
      await fill(partial);
      await syncFile(partial);
      await rename(partial, path);
    } finally {
      await rm(partial, { force: true });
    }
  }

  #pathOf(key: string): string {
    return join(this.address, ...key.split('/'));
  }
}
