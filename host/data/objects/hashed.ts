import { createHash } from 'node:crypto';
import type { Written } from './object-store.ts';

/** Counts and hashes the bytes that pass. */
export class Hashed {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  async *through(chunks: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer, void> {
    for await (const part of chunks) {
      const chunk = typeof part === 'string' ? Buffer.from(part) : part;
      this.add(chunk);
      yield chunk;
    }
  }

  add(chunk: Buffer): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Call it once, at the end. */
  end(): Written {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}
