import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { OutputRing } from '../../invocation/output-ring.ts';

export interface ClientOutputOptions {
  /** Sends one chunk. Resolves when the client has room for more. Undefined when the endpoint does not stream. */
  readonly write: ((chunk: string) => Promise<void>) | undefined;
  /** Maximum bytes of all chunks together. */
  readonly limitBytes: number;
  /** Called for each chunk of the guest. */
  onChunk(): void;
  /** Called with the milliseconds that the host computed for chunks of the guest. */
  onSpent(ms: number): void;
  /** Called when a chunk could not be sent and the guest does not wait for it. No later chunk is sent. */
  onFailed(error: unknown): void;
}

/**
 * The output of one invocation, in order: chunks that the guest leaves in the ring, and chunks that the host sends for
 * the guest.
 */
export class ClientOutput {
  readonly #options: ClientOutputOptions;
  #ring: OutputRing | undefined;
  /** Chunks that were taken out of the ring before another invocation got the ring. */
  #left: string[] = [];
  #sending: Promise<void> | undefined;
  #isSending = false;
  #writtenBytes = 0;
  #end: { readonly reason: unknown } | undefined;

  constructor(options: ClientOutputOptions) {
    this.#options = options;
  }

  /** Takes chunks from this ring from now on. */
  attach(ring: OutputRing): void {
    this.#ring = ring;
  }

  /** Sends the chunks in the ring as fast as the client takes them. */
  take(): void {
    if (this.#end || this.#isSending) return;
    this.#isSending = true;
    this.#sending = this.#sendAll();
  }

  /**
   * Empties the ring for its next user, because the guest has ended. Resolves when all chunks are sent or cannot be
   * sent. Returns undefined when there were no chunks.
   */
  detach(): Promise<void> | undefined {
    const ring = this.#ring;
    if (!ring) return undefined;
    for (let chunk = ring.read(); chunk !== undefined; chunk = ring.read()) this.#left.push(chunk);
    this.#ring = undefined;
    if (this.#left.length > 0) this.take();
    return this.#isSending ? this.#sending : undefined;
  }

  /** Sends a chunk after the earlier ones. Resolves when the client has room for more. */
  async send(chunk: string): Promise<void> {
    if (this.#ring) this.take();
    await this.#sending;
    await this.#write(chunk);
  }

  /** Ends the output. Later and waiting chunks fail with `reason`. */
  close(reason: unknown): void {
    this.#end ??= { reason };
  }

  /** Sends one chunk at a time. The guest gets the space in the ring back after the client has the chunk. */
  async #sendAll(): Promise<void> {
    try {
      for (;;) {
        const ring = this.#ring;
        const chunk = this.#left.shift() ?? ring?.read();
        if (chunk !== undefined) {
          this.#options.onChunk();
          const startedAt = performance.now();
          const written = this.#write(chunk); // checks and sends the chunk before the first wait
          this.#options.onSpent(performance.now() - startedAt);
          await written;
          if (ring === this.#ring) ring?.release(); // otherwise the ring belongs to another invocation
        } else if (!ring || ring.rest()) return;
      }
    } catch (error) {
      if (this.#end) return;
      this.#end = { reason: error };
      this.#options.onFailed(error);
    } finally {
      this.#isSending = false;
    }
  }

  async #write(chunk: string): Promise<void> {
    const { write, limitBytes } = this.#options;
    if (this.#end) throw this.#end.reason;
    if (!write) throw fail('NotStreaming', 'this endpoint was not called as a streaming endpoint');
    this.#writtenBytes += Math.max(1, Buffer.byteLength(chunk));
    if (this.#writtenBytes > limitBytes) throw outputTooLarge(limitBytes);
    await write(chunk);
  }
}

export function outputTooLarge(limit: number): AanaError {
  return fail('OutputTooLarge', `the answer is over the limit of ${limit} bytes`, {
    data: { limit },
  });
}
