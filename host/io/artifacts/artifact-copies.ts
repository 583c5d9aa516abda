import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, isDiskFull } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Artifact } from '../../base/schemas/index.ts';
import { type GrowingFiles, notFound } from './find-artifact.ts';
import { ProcessFolder, removeStaleFolders } from './temp-folders.ts';

const BYTES_PER_SAMPLE = 4;

/** Returns bytes of an artifact from a place on, none at its end, from a process that has it. See `readArtifact`. */
export type ReadBytes = (id: string, from: number) => Promise<Uint8Array>;

interface Copy {
  /** An id by which calls name it. */
  readonly id: string;
  readonly made: Promise<unknown>;
  /** Removes its files. Never rejects. */
  remove(): Promise<void>;
}

export interface ArtifactCopiesOptions {
  /** The folder in which this process makes one of its own. */
  readonly folder: string;
  readonly read: ReadBytes;
  readonly log: Logger;
}

/**
 * Copies of artifacts whose files this process does not see. Those who need the same artifact share a copy, which is
 * removed when no call names it any more.
 */
export class ArtifactCopies {
  readonly #options: ArtifactCopiesOptions;
  readonly #folder: ProcessFolder;
  readonly #copies = new Map<string, Copy>();
  #hasSwept = false;

  constructor(options: ArtifactCopiesOptions) {
    this.#options = options;
    this.#folder = new ProcessFolder(options.folder);
  }

  /**
   * Returns the path of a copy whose length and SHA-256 were compared. Rejects with `ArtifactNotFound` when they differ
   * or nobody has the bytes, and with `DiskFullException`.
   */
  path(artifact: Artifact): Promise<string> {
    const { id, bytes, sha256 } = artifact;
    return this.#shared(`${id} ${bytes} ${sha256}`, id, async (path) => {
      await this.#fetch(artifact, path);
      return path;
    });
  }

  /**
   * Returns the files of a copy of audio that is being decoded. They grow as those of the decoder do. If decoding fails
   * or the bytes cannot be had or written, they are removed, and `failure` tells the reason.
   */
  growing(ids: readonly string[], endId: string): Promise<GrowingFiles> {
    return this.#shared(endId, endId, async (folder) => {
      await this.#writing(endId, async () => {
        await mkdir(folder, { mode: 0o700 });
        await Promise.all(ids.map((_, at) => writeFile(join(folder, `${at}`), '', { flag: 'wx', mode: 0o600 })));
      });
      const grown = { files: ids.map((_, at) => join(folder, `${at}`)), end: join(folder, 'end') };
      let failure: unknown;
      void this.#follow(ids, endId, grown, (error) => (failure = error));
      return { ...grown, failure: () => failure };
    });
  }

  /** Removes the copies of artifacts that no call names. Called when a call has ended. */
  removeUnless(isNamed: (id: string) => boolean): void {
    for (const [key, { id, remove }] of this.#copies) {
      if (isNamed(id)) continue;
      this.#copies.delete(key);
      void remove();
    }
  }

  /** Removes all copies. May be called twice. */
  async close(): Promise<void> {
    this.#copies.clear();
    await this.#folder.remove();
  }

  #shared<T>(key: string, id: string, make: (path: string) => Promise<T>): Promise<T> {
    const known = this.#copies.get(key);
    if (known) return known.made as Promise<T>;
    const path = this.#newPath(id);
    const made = path.then(make);
    const remove = async (): Promise<void> => {
      await made.catch(() => {}); // it makes no more files then
      await path.then((all) => rm(all, { recursive: true, force: true })).catch(() => {}); // the folder goes at the end
    };
    const copy: Copy = { id, made, remove };
    this.#copies.set(key, copy);
    made.catch(() => {
      if (this.#copies.get(key) === copy) this.#copies.delete(key); // the next attempt may succeed
      void remove();
    });
    return made;
  }

  #newPath(id: string): Promise<string> {
    const { folder, log } = this.#options;
    if (!this.#hasSwept) void removeStaleFolders(folder, log); // of processes that were killed since a host has started
    this.#hasSwept = true;
    return this.#writing(id, async () => join(await this.#folder.path(), randomSuffix()));
  }

  async #fetch({ id, bytes, sha256 }: Artifact, path: string): Promise<void> {
    const hash = createHash('sha256');
    const length = await this.#append(id, path, bytes, (part) => hash.update(part));
    if (length !== bytes) throw notFound(id, `its bytes ended at ${length} of ${bytes}`);
    if (hash.digest('hex') !== sha256) throw notFound(id, 'its bytes have another SHA-256');
  }

  /** Appends the bytes of the decoder's files until its end. If that fails, tells it and removes the files. */
  async #follow(
    ids: readonly string[],
    endId: string,
    { files, end }: Pick<GrowingFiles, 'files' | 'end'>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    try {
      const lengths = await Promise.all(files.map((file, at) => this.#append(ids[at] ?? '', file)));
      await this.#append(endId, `${end}.part`);
      const told = (await readFile(`${end}.part`, 'utf8')).split(' ').map((samples) => Number(samples));
      const wrong = lengths.findIndex((length, at) => length !== (told[at] ?? 0) * BYTES_PER_SAMPLE);
      if (wrong !== -1)
        throw notFound(ids[wrong] ?? '', `${lengths[wrong]} bytes of it came, for ${told[wrong]} samples`);
      await rename(`${end}.part`, end); // so that no reader sees a part of it
    } catch (error) {
      onFailure(error);
      await Promise.all(files.map((file) => rm(file, { force: true }).catch(() => {}))); // the folder goes later
    }
  }

  /** Appends the bytes of an artifact to a file until its end. Returns their number. Rejects beyond `limit`. */
  async #append(id: string, path: string, limit?: number, onPart?: (part: Uint8Array) => void): Promise<number> {
    await using file = await this.#writing(id, () => open(path, 'a', 0o600));
    for (let length = 0; ;) {
      if (length === limit) return length;
      const part = await this.#options.read(id, length);
      if (part.length === 0) return length;
      length += part.length;
      if (limit !== undefined && length > limit) throw notFound(id, `it has more than ${limit} bytes`);
      onPart?.(part);
      await this.#writing(id, () => file.appendFile(part));
    }
  }

  /** Rejects with `DiskFullException`, or an error that says that this process cannot write. */
  async #writing<T>(id: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      const { folder } = this.#options;
      if (!isDiskFull(error)) throw notFound(id, `a copy cannot be written to ${folder} (${String(error)})`, error);
      const message =
        `there is no space left in ${folder} for a copy of artifact ${id}; free some space, or set media.temp_dir ` +
        `to another directory`;
      throw fail('DiskFullException', message, { data: { directory: folder }, cause: error });
    }
  }
}
