import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { UploadedFile } from '../../endpoints/registry/index.ts';
import { type LocalCopy, LostObject, type ObjectStore, RowObjects } from '../objects/index.ts';
import { hasEnded, type Storage, type StoredFile } from '../storage/index.ts';

/** Each task has a folder with its files, which have numbers. */
const NAMES = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/\d+$/;

export interface TaskFilesOptions {
  /** Keeps the files, in its folder `tasks`. */
  readonly objects: ObjectStore;
  readonly storage: Storage;
  readonly log: Logger;
}

/** Files in the form that endpoints receive. Their bytes are there until this is disposed. */
export interface OpenedFiles extends AsyncDisposable {
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** The uploaded files of tasks. Any host takes them, and any host opens them. */
export class TaskFiles {
  readonly #bytes: RowObjects;

  constructor({ objects, storage, log }: TaskFilesOptions) {
    this.#bytes = new RowObjects({
      store: objects,
      storage,
      folder: 'tasks',
      names: NAMES,
      isNeeded: async (id) => {
        const status = await storage.read(({ tasks }) => tasks.status(id, null));
        return status !== undefined && (!hasEnded(status) || status === 'failed'); // a failed task may be retried
      },
      log,
    });
  }

  /**
   * Keeps the files of a request, all or none. They survive a crash when this resolves, because the row of the task,
   * which is stored later, names them.
   */
  async keep(taskId: string, files: ReadonlyMap<string, UploadedFile>): Promise<StoredFile[]> {
    const kept: StoredFile[] = [];
    try {
      for (const [name, { path: from, artifact, bytes, filename, mimeType }] of files) {
        const path = `${taskId}/${kept.length}`; // never a name that a client chose
        const sha256 = artifact?.sha256;
        await this.#bytes.put({ name: path, bytes, sha256 }, from);
        kept.push({ name, path, bytes, sha256, filename, mimeType });
      }
    } catch (error) {
      await this.remove(kept);
      throw error;
    }
    return kept;
  }

  /**
   * Returns the files in the form that endpoints receive. Their bytes are compared with their checksums, because a task
   * may wait for days. If a file came without a checksum, only its length is compared. Throws `UploadedFileLost`, which
   * names the file part.
   */
  async open(stored: readonly StoredFile[], signal: AbortSignal): Promise<OpenedFiles> {
    const copies: LocalCopy[] = [];
    const release = async (): Promise<void> => {
      await Promise.all(copies.map((copy) => copy[Symbol.asyncDispose]()));
    };
    const files = new Map<string, UploadedFile>();
    try {
      for (const { path: object, name, bytes, sha256, filename, mimeType } of stored) {
        const copy = await this.#bytes.fetch({ name: object, bytes, sha256 }, signal).catch((error: unknown) => {
          throw error instanceof LostObject ? lost(name, error) : error;
        });
        copies.push(copy);
        const { path } = copy;
        const id = relative(this.#bytes.localRoot, path).split(sep).join('/');
        files.set(name, {
          path,
          artifact: sha256 === undefined ? undefined : { id, bytes, sha256 },
          bytes,
          ...(filename !== undefined && { filename }),
          ...(mimeType !== undefined && { mimeType }),
        });
      }
    } catch (error) {
      await release();
      throw error;
    }
    return { files, [Symbol.asyncDispose]: release };
  }

  /** Removes files that their task does not need any more. */
  async remove(files: readonly StoredFile[]): Promise<void> {
    await this.#bytes.discard(files.map(({ path }) => path));
  }

  /** Removes files left by hosts that died before they had stored the task, or right after the end of the task. */
  async sweep(signal: AbortSignal): Promise<void> {
    await this.#bytes.sweep(signal);
  }
}

function lost(name: string, cause: LostObject): Error {
  return fail(
    'UploadedFileLost',
    `the uploaded file part ${JSON.stringify(name)} of this task cannot be used: ${cause.message}; ` +
      `send the request again`,
    { data: { content: name }, cause },
  );
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
