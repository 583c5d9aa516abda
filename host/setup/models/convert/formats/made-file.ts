import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { randomSuffix } from '../../../../base/core/ids.ts';

export interface MadeFileResult {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface MakeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes written so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/**
 * The size of the pieces in which tensors are processed. Between pieces the event loop can run, and memory stays
 * bounded.
 */
export const SLICE_BYTES = 2 * 1024 * 1024;

/**
 * A file that is hashed while it is written and gets its name only when it is whole. Disposing it before `finish`
 * removes it.
 */
export class MadeFile implements AsyncDisposable {
  readonly path: string;
  readonly #options: MakeOptions;
  readonly #partial: string;
  readonly #handle: FileHandle;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #isOpen = true;

  private constructor(target: string, partial: string, handle: FileHandle, options: MakeOptions) {
    this.path = target;
    this.#partial = partial;
    this.#handle = handle;
    this.#options = options;
  }

  static async create(target: string, options: MakeOptions = {}): Promise<MadeFile> {
    await mkdir(path.dirname(target), { recursive: true });
    const partial = `${target}.${randomSuffix()}.making`;
    return new MadeFile(target, partial, await open(partial, 'wx'), options);
  }

  async write(...buffers: readonly Buffer[]): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const data = buffers.length === 1 && buffers[0] ? buffers[0] : Buffer.concat(buffers);
    for (let done = 0; done < data.length;) {
      const { bytesWritten } = await this.#handle.write(data, done, data.length - done);
      done += bytesWritten;
    }
    this.#hash.update(data);
    this.#bytes += data.length;
    this.#options.onProgress?.(this.#bytes);
  }

  async finish(): Promise<MadeFileResult> {
    await this.#handle.sync();
    await this.#close();
    await rename(this.#partial, this.path);
    return { path: this.path, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    await this.#close();
    await rm(this.#partial, { force: true });
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    await this.#handle.close();
  }
}

/** Returns the values as little-endian 32-bit integers. */
export function int32(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => out.writeInt32LE(value, 4 * index));
  return out;
}
