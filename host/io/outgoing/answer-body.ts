import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AanaError, fail } from '../../base/core/errors.ts';
import { downloadError, reasonOf, withoutCredentials } from './errors.ts';

export interface AnswerBodyOptions {
  /** The largest body, in bytes. */
  readonly maxBytes: number;
  /** Its reason is the error of a read when it is aborted. */
  readonly signal: AbortSignal;
  /** Longest silence of the server while it is read, in milliseconds. Default: for ever. */
  readonly idleTimeoutMs?: number | undefined;
}

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Returns what makes the decoder of a compressed answer. Some servers compress though the request asks for it not. */
export const decoderOf = ({ headers }: IncomingMessage): ReturnType<typeof DECODERS.get> =>
  DECODERS.get(headers['content-encoding']?.trim().toLowerCase() ?? '');

/** Yields the body of an answer, without the compression of {@link decoderOf}. It decodes as far as it is read. */
export async function* decoded(message: IncomingMessage): AsyncGenerator<Buffer> {
  const decoder = decoderOf(message)?.();
  if (!decoder) return yield* message;
  const chunks = message[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
  const first = await chunks.next();
  if (first.done === true) return; // an answer without a body may name the coding, too
  const all = async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield* chunks;
  };
  pipeline(all, decoder, () => {}); // the reader of the decoder gets the error
  yield* decoder;
}

/**
 * The body of an answer, which the server sends no faster than it is read. Reads throw `ResponseTooLarge`,
 * `DownloadException` that names the URL, or the signal's reason.
 */
export class AnswerBody {
  readonly #url: URL;
  readonly #message: IncomingMessage;
  readonly #options: AnswerBodyOptions;
  readonly #chunks: AsyncIterator<Buffer>;
  /** Has the bytes that have arrived and were not read, in one block, because a server may send each one alone. */
  #block = new Uint8Array(0);
  #waiting = this.#block;
  #bytes = 0;
  #isOver = false;
  #isReading = false;

  /** @param chunks what is read of the body, if it is not the body itself. The limit of bytes is for these. */
  constructor(url: URL, message: IncomingMessage, options: AnswerBodyOptions, chunks: AsyncIterable<Buffer> = message) {
    this.#url = url;
    this.#message = message;
    this.#options = options;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#limitSilence(false);
  }

  /**
   * Resolves with the next bytes: when there are `least` of them, or with those before the end. At most `most`. Empty
   * at the end. Only one read can be at work.
   *
   * @param onArrived called with the number of bytes that the host holds in addition. It may throw.
   */
  async read(least: number, most: number, onArrived: (bytes: number) => void = () => {}): Promise<Uint8Array> {
    if (this.#isReading) throw fail('InvalidArguments', 'an answer has one reader at a time');
    this.#isReading = true;
    this.#limitSilence(true);
    try {
      while (!this.#isOver && this.#waiting.length < least) await this.#receive(onArrived);
      return this.#take(most);
    } catch (error) {
      this.close();
      this.#options.signal.throwIfAborted();
      throw error instanceof AanaError ? error : downloadError(this.#url, reasonOf(error), error);
    } finally {
      this.#isReading = false;
      this.#limitSilence(false);
    }
  }

  /** Resolves with all bytes that were not read. */
  rest(): Promise<Uint8Array> {
    return this.read(Infinity, Infinity);
  }

  /** Closes the connection. Bytes that were not read are lost. */
  close(): void {
    this.#isOver = true;
    this.#block = this.#waiting = new Uint8Array(0);
    this.#message.destroy();
  }

  /** A server is silent also while nobody reads, because it can send no more. */
  #limitSilence(isOn: boolean): void {
    const { socket } = this.#message as { readonly socket?: IncomingMessage['socket'] | null };
    socket?.setTimeout(isOn ? (this.#options.idleTimeoutMs ?? 0) : 0);
  }

  async #receive(onArrived: (bytes: number) => void): Promise<void> {
    const { done, value: chunk } = await this.#chunks.next();
    if (done === true) {
      this.#isOver = true;
      return;
    }
    const { maxBytes } = this.#options;
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes)
      throw fail('ResponseTooLarge', `the answer of ${withoutCredentials(this.#url)} has more than ${maxBytes} bytes`, {
        data: { max_bytes: maxBytes },
      });
    onArrived(chunk.length);
    this.#append(chunk);
  }

  #append(chunk: Uint8Array): void {
    const waiting = this.#waiting;
    const count = waiting.length + chunk.length;
    let from = waiting.byteOffset;
    if (from + count > this.#block.length) {
      if (2 * count > this.#block.length) this.#block = new Uint8Array(2 * count);
      this.#block.set(waiting);
      from = 0;
    }
    this.#block.set(chunk, from + waiting.length);
    this.#waiting = this.#block.subarray(from, from + count);
  }

  #take(most: number): Uint8Array {
    const bytes = this.#waiting.slice(0, most);
    this.#waiting = this.#waiting.subarray(bytes.length);
    if (this.#waiting.length === 0) this.#block = this.#waiting = new Uint8Array(0);
    return bytes;
  }
}
