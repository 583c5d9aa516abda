import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { AnswerPort } from '../../ports.ts';

export interface ClientOutputOptions {
  /** Sends one chunk. Resolves when the client has room for more. Undefined when the endpoint does not stream. */
  readonly write: ((chunk: string) => Promise<void>) | undefined;
  /** Takes an answer that is bytes. Undefined when the endpoint has none. */
  readonly answer: AnswerPort | undefined;
  /** Maximum bytes of all chunks together, or of the answer. */
  readonly limitBytes: number;
  /** Called for each chunk of the guest. */
  onChunk(): void;
  /** Called with the milliseconds that the host computed for chunks of the guest. */
  onSpent(ms: number): void;
}

/** The output of one invocation, in order: chunks of the guest, and chunks that the host sends for the guest. */
export class ClientOutput {
  readonly #options: ClientOutputOptions;
  /** Resolves when the earlier chunks are sent. Undefined before the first one. */
  #earlier: Promise<void> | undefined;
  #writtenBytes = 0;
  #end: { readonly reason: unknown } | undefined;
  #failure: { readonly reason: unknown } | undefined;

  constructor(options: ClientOutputOptions) {
    this.#options = options;
  }

  /** Resolves when all chunks so far are sent or cannot be sent. Undefined when there were none. */
  get sent(): Promise<void> | undefined {
    return this.#earlier;
  }

  /** Why a chunk of {@link post} was not sent. */
  get failure(): { readonly reason: unknown } | undefined {
    return this.#failure;
  }

  /** Sends a chunk after the earlier ones. Resolves when the client has room for more. */
  send(chunk: string): Promise<void> {
    this.#options.onChunk();
    return this.#inTurn(() => this.#write(chunk));
  }

  /** Sends a chunk like {@link send}, of a guest that does not wait. When it fails, no later chunk is sent. */
  post(chunk: string): Promise<void> {
    this.#options.onChunk();
    return this.#inTurn(() =>
      this.#write(chunk).catch((reason: unknown) => {
        this.#failure ??= { reason };
        this.#end ??= { reason };
        throw reason;
      }),
    );
  }

  begin(head: Parameters<AnswerPort['begin']>[0]): void {
    this.#answer.begin(head);
  }

  /** Sends bytes of the answer. Resolves when the client has room for more. */
  sendBytes(bytes: Uint8Array): Promise<void> {
    this.#count(bytes.length);
    return this.#answer.send(bytes);
  }

  get #answer(): AnswerPort {
    const { answer } = this.#options;
    if (!answer) throw fail('OutputError', 'the output schema of this endpoint has no answer that is bytes');
    return answer;
  }

  #count(bytes: number): void {
    const { limitBytes } = this.#options;
    this.#writtenBytes += bytes;
    if (this.#writtenBytes > limitBytes) throw outputTooLarge(limitBytes);
  }

  #inTurn(write: () => Promise<void>): Promise<void> {
    const sending = this.#earlier ? this.#earlier.then(write) : write();
    this.#earlier = sending.catch(() => {});
    return sending;
  }

  /** Ends the output. Later and waiting chunks fail with `reason`. */
  close(reason: unknown): void {
    this.#end ??= { reason };
  }

  async #write(chunk: string): Promise<void> {
    const { write, onSpent } = this.#options;
    if (this.#end) throw this.#end.reason;
    if (!write) throw fail('NotStreaming', 'this endpoint was not called as a streaming endpoint');
    this.#count(Math.max(1, Buffer.byteLength(chunk)));
    const startedAt = performance.now();
    const written = write(chunk); // checks and sends the chunk before the first wait
    onSpent(performance.now() - startedAt);
    await written;
  }
}

export function outputTooLarge(limit: number): AanaError {
  return fail('OutputTooLarge', `the answer is over the limit of ${limit} bytes`, {
    data: { limit },
  });
}
