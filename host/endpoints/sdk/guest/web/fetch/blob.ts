/** `Blob` and `File` (File API), in components whose code names them or `fetch`. */
import { joinedBytes } from '../../bytes.ts';
import { decodeUtf8, encodeUtf8 } from '../../utf8.ts';
import { CLONE, type Cloneable } from '../clone.ts';
import { ReadableStream } from './streams.ts';

export type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;

export interface BlobOptions {
  readonly type?: string;
}

export class Blob implements Cloneable {
  readonly #bytes: Uint8Array;
  readonly type: string;

  constructor(parts: Iterable<BlobPart> = [], { type = '' }: BlobOptions = {}) {
    if (typeof parts !== 'object' || !(Symbol.iterator in parts)) throw new TypeError('Blob needs a list of parts');
    this.#bytes = joinedBytes(Array.from(parts, bytesOf));
    this.type = /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : '';
  }

  static bytesOf(blob: Blob): Uint8Array {
    return blob.#bytes;
  }

  get [Symbol.toStringTag](): string {
    return 'Blob';
  }

  [CLONE](): Blob {
    return new Blob([this], this);
  }

  /** Bytes. */
  get size(): number {
    return this.#bytes.length;
  }

  slice(start = 0, end: number = this.size, type = ''): Blob {
    return new Blob([this.#bytes.slice(start, end)], { type });
  }

  async text(): Promise<string> {
    return withoutMark(decodeUtf8(this.#bytes));
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer as ArrayBuffer;
  }

  stream(): ReadableStream<Uint8Array> {
    return streamOf(this.#bytes);
  }
}

export class File extends Blob {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly lastModified: number;

  constructor(
    parts: Iterable<BlobPart>,
    name: string,
    { type, lastModified = Date.now() }: BlobOptions & { readonly lastModified?: number } = {},
  ) {
    if (name === undefined) throw new TypeError('File needs parts and a name');
    super(parts, type === undefined ? {} : { type });
    this.name = String(name);
    this.lastModified = Number(lastModified);
  }

  override get [Symbol.toStringTag](): string {
    return 'File';
  }

  override [CLONE](): File {
    return new File([this], this.name, this);
  }
}

/** Texts of the web have no byte order mark. */
export const withoutMark = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes.slice());
      controller.close();
    },
  });
}

export function viewOf(part: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(part)
    ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
    : new Uint8Array(part);
}

function bytesOf(part: BlobPart): Uint8Array {
  if (part instanceof Blob) return Blob.bytesOf(part);
  return part instanceof ArrayBuffer || ArrayBuffer.isView(part) ? viewOf(part) : encodeUtf8(String(part));
}
