import { Batches } from './batches.ts';
import { hostPromise } from '../guest/event-loop.ts';
import { hostCall } from '../host-error.ts';
import type { Uploads } from '../../../../wit/generated/world/uploads.ts';
import { fromBase64 } from '../guest/base64.ts';

/** Bytes that cross the border at once. */
const pieceBytes = 256 * 1024;

/** A file that was uploaded with the request. The host has its bytes; what is read is copied to the plugin. */
export class UploadedFile {
  readonly #uploads: Uploads;
  readonly #field: string;
  /** The file name, as the client says. Undefined when it says none. */
  readonly name: string | undefined;
  /** The media type, as the client says, such as `text/csv`. Undefined when it says none. */
  readonly type: string | undefined;
  /** Bytes. */
  readonly size: number;

  /** @internal */
  constructor(uploads: Uploads, field: string) {
    const { name, mediaType, size } = hostCall(() => uploads.info(field));
    this.#uploads = uploads;
    this.#field = field;
    this.name = name;
    this.type = mediaType;
    this.size = size;
  }

  /** Resolves with the bytes from `start` to before `end`, counted from 0. Default: all bytes. */
  async bytes(start = 0, end: number = this.size): Promise<Uint8Array> {
    const bytes = new Uint8Array(Math.max(0, Math.min(end, this.size) - start));
    let length = 0;
    for await (const piece of this.pieces(start, end)) {
      bytes.set(piece, length);
      length += piece.length;
    }
    return bytes.subarray(0, length);
  }

  /** Resolves with the whole file as text in UTF-8, without its byte order mark. Invalid bytes become U+FFFD. */
  async text(): Promise<string> {
    return (await this.textPieces().all()).join('');
  }

  /** The bytes from `start` to before `end` in order, in pieces of at most 262,144. */
  pieces(start = 0, end: number = this.size): Batches<Uint8Array> {
    return new Batches(() => {
      let at = start;
      return () => {
        if (at >= end) return undefined;
        return hostPromise(
          () => this.#uploads.read(this.#field, at, Math.min(pieceBytes, end - at)),
          (base64) => {
            const piece = fromBase64(base64);
            at = piece.length === 0 ? end : at + piece.length;
            return piece.length === 0 ? [] : [piece];
          },
        );
      };
    });
  }

  /** The text of the file in order, in pieces that end between characters, and anywhere in lines. */
  textPieces(): Batches<string> {
    return new Batches(() => {
      let at = 0;
      return () => {
        if (at >= this.size) return undefined;
        return hostPromise(
          () => this.#uploads.readText(this.#field, at, pieceBytes),
          ({ text, length }) => {
            at = length === 0 ? this.size : at + length;
            return length === 0 ? [] : [text];
          },
        );
      };
    });
  }
}
