import { hostCall } from '../host-error.ts';
import type { Output } from '../../../../wit/generated/world/output.ts';
import { toBase64 } from '../guest/base64.ts';
import { joinedBytes } from '../guest/bytes.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** Bytes that cross the border at once. */
const pieceBytes = 256 * 1024;

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface BytesOptions {
  /** Default: 200. One of 200 to 299 without 204, 205 and 206, or of 400 to 599. */
  readonly status?: number;
  /** `cache-control`, `content-disposition`, `content-language`, `etag`, `expires`, `last-modified`, `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that is bytes. {@link asBytes} makes it, and the host sends it in pieces when `run` returns it. */
export class BytesAnswer<T extends string> {
  readonly #pieces: Pieces;
  readonly media_type: T;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /** @internal */
  constructor(mediaType: T, pieces: Pieces, { status = 200, headers = {} }: BytesOptions) {
    this.media_type = mediaType;
    this.#pieces = pieces;
    this.status = status;
    this.headers = headers;
  }

  /** All bytes. They can be read or sent only once if the answer has a generator, and not from an asynchronous one. */
  get base64(): string {
    if (Symbol.asyncIterator in this.#pieces) throw new TypeError('the bytes come from an asynchronous generator');
    return toBase64(joinedBytes([...this.#pieces]));
  }

  /** @internal Sends the answer. Waits while the client has no room for more. */
  send(output: Output): MaybePromise<void> {
    const { media_type: mediaType, status } = this;
    const headers = Object.entries(this.headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
    hostCall(() => output.begin({ mediaType, status, headers }));
    if (Symbol.asyncIterator in this.#pieces) return sendLater(this.#pieces, output);
    for (const piece of this.#pieces) sendPiece(piece, output);
  }
}

async function sendLater(pieces: AsyncIterable<Uint8Array>, output: Output): Promise<void> {
  for await (const piece of pieces) sendPiece(piece, output);
}

function sendPiece(piece: Uint8Array, output: Output): void {
  for (let at = 0; at < piece.length; at += pieceBytes) {
    const base64 = toBase64(piece.subarray(at, at + pieceBytes));
    hostCall(() => output.send(base64));
  }
}

/**
 * Returns an answer that is bytes, or pieces of bytes that a generator makes while the client reads, also an
 * asynchronous one. An endpoint returns it where its output is a {@link bytesAnswer} of this media type.
 */
export function asBytes<const T extends string>(
  mediaType: T,
  bytes: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options: BytesOptions = {},
): BytesAnswer<T> {
  return new BytesAnswer(mediaType, bytes instanceof Uint8Array ? [bytes] : bytes, options);
}
