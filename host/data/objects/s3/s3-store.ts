import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { Limiter } from '../../../base/core/async/limiter.ts';
import { Hashed } from '../hashed.ts';
import {
  type ListedObject,
  type LocalCopy,
  LostObject,
  type ObjectStore,
  requireSame,
  type StoredObject,
  type Written,
} from '../object-store.ts';
import { LocalCopies } from './local-copies.ts';
import { pieces } from './pieces.ts';
import { bodyOf, S3Refusal, S3Requests, type S3Settings } from './s3-requests.ts';

/** Larger objects are written in parts of this size, of which S3 allows 10,000: 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Writes at the same time. Each has at most two parts in memory. */
const WRITES = 8;
const READ_BYTES = 1024 * 1024;

export interface S3StoreOptions {
  readonly settings: S3Settings;
  /** The folder below which copies of objects lie. */
  readonly copiesRoot: string;
  /** Returns the folder of the copies of this process, below `copiesRoot`. */
  readonly copies: () => Promise<string>;
}

/** Objects in a bucket of S3, or of a server with its API. */
export class S3Store implements ObjectStore {
  readonly #requests: S3Requests;
  readonly #prefix: string;
  readonly #copiesRoot: string;
  readonly #copies: LocalCopies;
  readonly #writes = new Limiter(WRITES);

  constructor({ settings, copiesRoot, copies }: S3StoreOptions) {
    this.#requests = new S3Requests(settings);
    this.#prefix = settings.prefix === '' ? '' : `${settings.prefix}/`;
    this.#copiesRoot = copiesRoot;
    this.#copies = new LocalCopies({
      folder: copies,
      download: (object, path, signal) => this.#naming(this.#download(object, path, signal)),
    });
  }

  get address(): string {
    return this.#requests.address;
  }

  localRoot(): string {
    return this.#copiesRoot;
  }

  async put(object: StoredObject, from: string): Promise<void> {
    const written = await this.write(object.key, createReadStream(from, { highWaterMark: READ_BYTES }));
    try {
      requireSame(object, written);
    } catch (error) {
      await this.remove(object.key);
      throw error;
    }
    await rm(from, { force: true });
  }

  write(key: string, chunks: AsyncIterable<string | Buffer>): Promise<Written> {
    return this.#naming(
      this.#writes.run(async () => {
        const hashed = new Hashed();
        const parts = pieces(hashed.through(chunks), PART_BYTES);
        try {
          const { value: first = Buffer.alloc(0) } = await parts.next();
          if (first.length < PART_BYTES)
            await this.#requests.exchange(() => ({ method: 'PUT', key, body: first }), ignored);
          else await this.#writeParts(key, first, parts);
        } finally {
          await parts.return(); // closes the file of the chunks that were not asked for
        }
        return hashed.end();
      }),
    );
  }

  fetch(object: StoredObject, signal?: AbortSignal): Promise<LocalCopy> {
    return this.#copies.fetch(object, signal);
  }

  async remove(key: string): Promise<void> {
    await this.#naming(this.#requests.exchange(() => ({ method: 'DELETE', key }), ignored).catch(ignoreMissing));
  }

  async *list(folder: string, signal?: AbortSignal): AsyncGenerator<ListedObject, void> {
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const query = {
        'list-type': '2',
        prefix: `${this.#prefix}${folder}/`,
        ...(token !== undefined && { 'continuation-token': token }),
      };
      const names = ['Key', 'LastModified', 'NextContinuationToken'] as const;
      const page = await this.#naming(this.#requests.ask({ method: 'GET', query }, names, signal));
      for (const [at, key] of page.Key.entries())
        yield { key: this.#withoutPrefix(key), modifiedAt: timeOf(page.LastModified[at]) };
      const [next] = page.NextContinuationToken;
      if (next !== undefined && next === token)
        throw this.#requests.unavailable(new S3Refusal(200, '', 'its list of objects does not go on'));
      token = next;
    }
  }

  async removeUnfinished(folder: string, before: number, signal?: AbortSignal): Promise<void> {
    const query = { uploads: '', prefix: `${this.#prefix}${folder}/` };
    const names = ['Key', 'UploadId', 'Initiated'] as const;
    const page = await this.#naming(this.#requests.ask({ method: 'GET', query }, names, signal));
    for (const [at, key] of page.Key.entries()) {
      const uploadId = page.UploadId[at];
      if (uploadId && timeOf(page.Initiated[at]) < before)
        // without its id the object itself would be removed
        await this.#naming(this.#abandon(this.#withoutPrefix(key), uploadId, signal));
    }
  }

  /** Returns the time of the server in milliseconds since 1970; undefined if it tells none. */
  async clock(): Promise<number | undefined> {
    const query = { 'list-type': '2', 'max-keys': '1', prefix: this.#prefix };
    const date = await this.#naming(
      this.#requests.exchange(
        () => ({ method: 'GET', query }),
        async ({ headers }) => headers.date,
      ),
    );
    const time = timeOf(date);
    return Number.isFinite(time) ? time : undefined;
  }

  close(): void {
    this.#requests.close();
  }

  async #writeParts(key: string, first: Buffer, others: AsyncIterable<Buffer>): Promise<void> {
    const { UploadId: ids } = await this.#requests.ask({ method: 'POST', key, query: { uploads: '' } }, ['UploadId']);
    const [uploadId] = ids;
    if (uploadId === undefined) throw new S3Refusal(200, '', 'it answers without the id of an upload');
    try {
      const tags = [await this.#writePart(key, uploadId, 1, first)];
      for await (const part of others) tags.push(await this.#writePart(key, uploadId, tags.length + 1, part));
      await this.#complete(key, uploadId, tags);
    } catch (error) {
      await this.#abandon(key, uploadId).catch(() => {}); // a sweep does it later
      throw error;
    }
  }

  #writePart(key: string, uploadId: string, number: number, body: Buffer): Promise<string> {
    return this.#requests.exchange(
      () => ({ method: 'PUT', key, query: { partNumber: String(number), uploadId }, body }),
      async ({ headers: { etag } }) => {
        if (etag === undefined || !/^"?[\w-]{1,128}"?$/.test(etag))
          throw new S3Refusal(200, '', 'it answers without an ETag');
        return etag.replaceAll('"', '');
      },
    );
  }

  async #complete(key: string, uploadId: string, tags: readonly string[]): Promise<void> {
    const parts = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>"${tag}"</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const request = { method: 'POST', key, query: { uploadId }, body } as const;
    try {
      await this.#requests.ask(request, []);
    } catch (error) {
      // A repeated request, whose first answer was lost, finds the upload completed.
      if (!(error instanceof S3Refusal) || error.code !== 'NoSuchUpload') throw error;
      await this.#requests.exchange(() => ({ method: 'HEAD', key }), ignored);
    }
  }

  async #abandon(key: string, uploadId: string, signal?: AbortSignal): Promise<void> {
    const request = { method: 'DELETE', key, query: { uploadId } } as const;
    await this.#requests.exchange(() => request, ignored, { signal }).catch(ignoreMissing);
  }

  /** Downloads an object, after a broken connection from where it broke. */
  async #download(object: StoredObject, path: string, signal: AbortSignal): Promise<void> {
    const { key, bytes } = object;
    await using file = await open(path, 'wx', 0o600);
    let hashed = new Hashed();
    const read = async (answer: Parameters<typeof bodyOf>[0]): Promise<void> => {
      if (hashed.bytes > 0 && answer.statusCode !== 206) hashed = new Hashed(); // the server knows no ranges
      for await (const chunk of bodyOf(answer)) {
        if (hashed.bytes + chunk.length > bytes) throw new LostObject(`it has more than ${bytes} bytes`);
        for (let at = 0; at < chunk.length;)
          at += (await file.write(chunk, at, chunk.length - at, hashed.bytes + at)).bytesWritten;
        hashed.add(chunk);
      }
    };
    const request = () => ({
      ...({ method: 'GET', key } as const),
      ...(hashed.bytes > 0 && { headers: { range: `bytes=${hashed.bytes}-` } }),
    });
    try {
      await this.#requests.exchange(request, read, { signal, progress: () => hashed.bytes });
    } catch (error) {
      if (!(error instanceof S3Refusal)) throw error;
      if (error.code === 'NoSuchBucket' || (error.status !== 404 && error.status !== 416)) throw error;
      if (error.status === 404) throw new LostObject(`${this.address} does not have it`, { cause: error });
    }
    requireSame(object, hashed.end());
  }

  /** Makes a refusal an error that names the store. */
  async #naming<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof S3Refusal ? this.#requests.unavailable(error) : error;
    }
  }

  #withoutPrefix(key: string): string {
    return key.slice(this.#prefix.length);
  }
}

async function ignored(): Promise<void> {}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof S3Refusal) || error.status !== 404 || error.code === 'NoSuchBucket') throw error;
}

/** Returns a time of an answer; for one that cannot be read infinity, so that nothing is taken for old. */
function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}
