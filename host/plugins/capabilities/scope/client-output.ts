import { AanaError } from '../../../core/errors.ts';
import type { OutputRing } from '../../invocation/output-ring.ts';

export interface ClientOutputOptions {
  /** Takes one chunk; resolves when the client has room for more. Absent where nothing is streamed. */
  readonly write: ((chunk: string) => Promise<void>) | undefined;
  /** Most bytes of all chunks together. */
  readonly limitBytes: number;
  /** Told of each chunk of the guest. */
  onChunk(): void;
  /** Told how many milliseconds the host computed for chunks of the guest. */
  onSpent(ms: number): void;
  /** Told when a chunk that the guest does not wait for could not be sent. No later one is sent then. */
  onFailed(error: unknown): void;
}

/**
 * What one invocation sends to its client, in order: what its guest leaves in the ring, and what the host sends for it.
 */
export class ClientOutput {
  readonly #options: ClientOutputOptions;
  #ring: OutputRing | undefined;
  /** Taken out of the ring before it went to another invocation. */
  #left: string[] = [];
  #sending: Promise<void> | undefined;
  #isSending = false;
  #writtenBytes = 0;
  #end: { readonly reason: unknown } | undefined;

  constructor(options: ClientOutputOptions) {
    this.#options = options;
  }

  /** Where the guest leaves its chunks from now on. */
  attach(ring: OutputRing): void {
    this.#ring = ring;
  }

  /** Sends what is in the ring, as fast as the client takes it. */
  take(): void {
    if (this.#end || this.#isSending) return;
    this.#isSending = true;
    this.#sending = this.#sendAll();
  }

  /**
   * The guest leaves no more: empties the ring for its next user. Resolves when all is sent or cannot be; undefined
   * when there was nothing.
   */
  detach(): Promise<void> | undefined {
    const ring = this.#ring;
    if (!ring) return undefined;
    for (let chunk = ring.read(); chunk !== undefined; chunk = ring.read()) this.#left.push(chunk);
    this.#ring = undefined;
    if (this.#left.length > 0) this.take();
    return this.#isSending ? this.#sending : undefined;
  }

  /** Sends a chunk after those before it. Resolves when the client has room for more. */
  async send(chunk: string): Promise<void> {
    if (this.#ring) this.take();
    await this.#sending;
    await this.#write(chunk);
  }

  /** Sends nothing more; what still wants to fails with `reason`. */
  close(reason: unknown): void {
    this.#end ??= { reason };
  }

  /** One at a time: the room in the ring is the guest's again when the client has it. */
  async #sendAll(): Promise<void> {
    try {
      for (;;) {
        const ring = this.#ring;
        const chunk = this.#left.shift() ?? ring?.read();
        if (chunk !== undefined) {
          this.#options.onChunk();
          const startedAt = performance.now();
          const written = this.#write(chunk); // checks and sends it before it waits for the client
          this.#options.onSpent(performance.now() - startedAt);
          await written;
          if (ring === this.#ring) ring?.release(); // else it is another invocation's
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
    if (!write)
      throw new AanaError('NotStreaming', 'bad-request', 'this endpoint was not called as a streaming endpoint');
    this.#writtenBytes += Math.max(1, Buffer.byteLength(chunk));
    if (this.#writtenBytes > limitBytes) throw outputTooLarge(limitBytes);
    await write(chunk);
  }
}

export function outputTooLarge(limit: number): AanaError {
  return new AanaError('OutputTooLarge', 'too-large', `the answer is over the limit of ${limit} bytes`, {
    data: { limit },
  });
}
