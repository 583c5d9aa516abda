import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { artifactPath, verifiedPath } from '../../io/artifacts/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { UploadedFile } from '../../endpoints/registry/index.ts';
import { moveFile, type StoredFile, syncFile, syncMadeFolders } from '../storage/index.ts';

/** A younger folder may belong to a task that is not stored yet. */
const ORPHAN_AGE_MS = 3_600_000;
/** The checksum in the artifact of a file that came without one. It is not compared. */
const NOT_KNOWN = '0'.repeat(64);
const TASK_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The uploaded files of tasks. Each task has a folder, in a folder that all hosts of a database share. */
export class TaskFiles {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Keeps the files of a request. Files are moved if possible, and otherwise copied. They are synced to the disk when
   * this resolves, because the row of the task, which is synced later, names them.
   */
  async keep(taskId: string, files: ReadonlyMap<string, UploadedFile>): Promise<StoredFile[]> {
    if (files.size === 0) return [];
    const folder = join(this.#dir, taskId);
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    const kept: StoredFile[] = [];
    for (const [name, { path: from, artifact, bytes, filename, mimeType }] of files) {
      const path = join(taskId, String(kept.length)); // never a name that a client chose
      await moveFile(from, join(this.#dir, path));
      kept.push({ name, path, bytes, sha256: artifact?.sha256, filename, mimeType });
    }
    await Promise.all(kept.map(({ path }) => syncFile(join(this.#dir, path))));
    await syncMadeFolders(folder, made);
    return kept;
  }

  /**
   * Returns the files in the form that endpoints receive. Their bytes are compared with their checksums, because a task
   * may wait for days. If a file came without a checksum, only its length is compared. Throws `UploadedFileLost`, which
   * names the file part.
   */
  async open(files: readonly StoredFile[], signal: AbortSignal): Promise<ReadonlyMap<string, UploadedFile>> {
    const opened = new Map<string, UploadedFile>();
    for (const file of files) {
      const { name, bytes, sha256, filename, mimeType } = file;
      const artifact = sha256 === undefined ? undefined : { id: file.path, bytes, sha256 };
      const path = await this.#pathOf(file, signal);
      opened.set(name, {
        path,
        artifact,
        bytes,
        ...(filename !== undefined && { filename }),
        ...(mimeType !== undefined && { mimeType }),
      });
    }
    return opened;
  }

  async #pathOf({ name, path: id, bytes, sha256 }: StoredFile, signal: AbortSignal): Promise<string> {
    const folders = [this.#dir];
    try {
      return sha256 === undefined
        ? await artifactPath({ id, bytes, sha256: NOT_KNOWN }, folders)
        : await verifiedPath({ id, bytes, sha256 }, folders, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw fail(
        'UploadedFileLost',
        `the uploaded file part ${JSON.stringify(name)} of this task cannot be used: ${reason}; send the request again`,
        { data: { content: name }, cause },
      );
    }
  }

  async remove(taskId: string): Promise<void> {
    await rm(join(this.#dir, taskId), { recursive: true, force: true, maxRetries: 3 });
  }

  /** Removes folders left by hosts that died before they had stored the task, or right after the end of the task. */
  async removeOrphans(isNeeded: (taskId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#dir).catch(() => [])) {
      const found = await stat(join(this.#dir, name)).catch(() => undefined);
      if (!TASK_ID.test(name) || !found || Date.now() - found.mtimeMs < ORPHAN_AGE_MS) continue;
      if (!(await isNeeded(name))) await this.remove(name);
    }
  }
}

/** Returns the hash of a request: of its endpoint, its input and the contents of its files. */
export async function hashRequest(
  endpoint: string,
  data: string,
  files: ReadonlyMap<string, UploadedFile>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([endpoint, data]));
  for (const [name, file] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(JSON.stringify([name, file.bytes, file.artifact?.sha256 ?? (await hashFile(file.path))]));
  return hash.digest('hex');
}

/** Hashes a file that has no checksum yet. Uploads have one. */
async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) hash.update(chunk);
  });
  return hash.digest('hex');
}
