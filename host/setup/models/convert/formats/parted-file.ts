import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { formatError } from './format-error.ts';

interface Part {
  readonly handle: FileHandle;
  readonly start: number;
  readonly bytes: number;
}

/** Several files that are read as if they were one. Owns their handles. */
export class PartedFile implements AsyncDisposable {
  readonly bytes: number;
  /** The file's name in error messages. */
  readonly label: string;
  readonly #parts: readonly Part[];
  #window: { readonly start: number; readonly data: Buffer } | undefined;

  private constructor(label: string, parts: readonly Part[]) {
    this.label = label;
    this.#parts = parts;
    this.bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  }

  static async open(paths: readonly string[]): Promise<PartedFile> {
    const parts: Part[] = [];
    let start = 0;
    try {
      for (const file of paths) {
        const handle = await open(file, 'r');
        const { size } = await handle.stat().catch(async (error: unknown) => {
          await handle.close();
          throw error;
        });
        parts.push({ handle, start, bytes: size });
        start += size;
      }
    } catch (error) {
      await Promise.all(parts.map((part) => part.handle.close()));
      throw error;
    }
    return new PartedFile(path.basename(paths[0] ?? ''), parts);
  }

  /** Returns exactly `length` bytes from `offset`. Throws `ModelFormatError` when the file is shorter. */
  async read(offset: number, length: number): Promise<Buffer> {
    if (!(offset >= 0 && length >= 0 && offset + length <= this.bytes)) {
      throw formatError(
        this.label,
        `the file is truncated: ${offset + length} bytes are needed, but it has ${this.bytes}`,
      );
    }
    const out = Buffer.allocUnsafe(length);
    let done = 0;
    for (const part of this.#parts) {
      while (done < length && offset + done >= part.start && offset + done < part.start + part.bytes) {
        const at = offset + done - part.start;
        const { bytesRead } = await part.handle.read(out, done, Math.min(length - done, part.bytes - at), at);
        if (bytesRead === 0) throw formatError(this.label, 'the file became shorter while it was read');
        done += bytesRead;
      }
    }
    return out;
  }

  /** Like `read`, for the small fields of a header. They are read from one buffered block. */
  async readField(offset: number, length: number): Promise<Buffer> {
    const window = this.#window;
    if (window && offset >= window.start && offset + length <= window.start + window.data.length) {
      return window.data.subarray(offset - window.start, offset - window.start + length);
    }
    const block = Math.max(length, Math.min(FIELD_BLOCK, this.bytes - offset));
    this.#window = { start: offset, data: await this.read(offset, block) };
    return this.#window.data.subarray(0, length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.handle.close()));
  }
}

const FIELD_BLOCK = 8 * 1024;
