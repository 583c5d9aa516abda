import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { moveFile, syncFile, syncMadeFolders } from '../storage/index.ts';

/** A younger file may belong to a row that is not stored yet. */
const ORPHAN_AGE_MS = 3_600_000;

/** The ids of stored files. */
export const FILE_ID = /^file-[0-9a-f]{32}$/;

/** The ids of parts of uploads. */
export const PART_ID = /^part_[0-9a-f]{32}$/;

/** The bytes of files, each under its id, in a folder that all hosts of a database share. */
export class FileFolder {
  readonly #dir: string;
  readonly #ids: RegExp;

  /** `ids` matches the ids of the files. */
  constructor(dir: string, ids: RegExp = FILE_ID) {
    this.#dir = dir;
    this.#ids = ids;
  }

  /**
   * Moves a file into the folder. It is synced to the disk when this resolves, because the row of the file, which is
   * synced later, names it.
   */
  async keep(id: string, from: string): Promise<void> {
    const made = await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await moveFile(from, this.#pathOf(id));
    await this.#sync(id, made);
  }

  /**
   * Writes a file, synced to the disk. Returns the number of its bytes and their SHA-256. Nothing is left of a file
   * whose chunks end with an error, or for which the disk has no room.
   */
  async write(
    id: string,
    chunks: AsyncIterable<string | Buffer>,
  ): Promise<{ readonly bytes: number; readonly sha256: string }> {
    const made = await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const hash = createHash('sha256');
    let bytes = 0;
    const file = await open(this.#pathOf(id), 'w', 0o600);
    try {
      await pipeline(
        chunks,
        async function* (parts: AsyncIterable<string | Buffer>) {
          for await (const part of parts) {
            const chunk = typeof part === 'string' ? Buffer.from(part) : part;
            hash.update(chunk);
            bytes += chunk.length;
            yield chunk;
          }
        },
        file.createWriteStream(),
      );
      await this.#sync(id, made);
    } catch (error) {
      await this.remove(id);
      throw error;
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  /**
   * Returns the bytes of a file. They can be read to the end also if the file is removed. Throws `UploadedFileLost`.
   */
  async open({ id, bytes }: { readonly id: string; readonly bytes: number }): Promise<Readable> {
    const file = await open(this.#pathOf(id), 'r').catch((cause: unknown) => {
      throw lost(id, 'it cannot be read', cause);
    });
    const { size } = await file.stat();
    if (size === bytes) return file.createReadStream();
    await file.close();
    throw lost(id, `it has ${size} bytes, not ${bytes}`);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true, maxRetries: 3 });
  }

  /** Removes files left by hosts that died before they had stored the row, or right after they had removed it. */
  async removeOrphans(isNeeded: (id: string) => Promise<boolean>): Promise<void> {
    for (const id of await readdir(this.#dir).catch(() => [])) {
      const found = await stat(this.#pathOf(id)).catch(() => undefined);
      if (!this.#ids.test(id) || !found || Date.now() - found.mtimeMs < ORPHAN_AGE_MS) continue;
      if (!(await isNeeded(id))) await this.remove(id);
    }
  }

  async #sync(id: string, made: string | undefined): Promise<void> {
    await syncFile(this.#pathOf(id));
    await syncMadeFolders(this.#dir, made);
  }

  #pathOf(id: string): string {
    return join(this.#dir, id);
  }
}

function lost(id: string, reason: string, cause?: unknown): AanaError {
  return fail('UploadedFileLost', `the file ${id} cannot be used: ${reason}; upload it again`, {
    data: { content: id },
    cause,
  });
}
