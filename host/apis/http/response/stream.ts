import type { Context } from 'koa';
import { errorJson } from './error-body.ts';
import { type StreamFormat, streamFormatFor } from './stream-formats.ts';
import { StreamedAnswer } from './streamed-answer.ts';

export interface JsonStreamOptions {
  readonly signal: AbortSignal;
  /** Time of silence after which a keep-alive is sent, if the format has one. */
  readonly keepAliveMs: number;
}

/**
 * The answer of a streaming endpoint: JSON texts in the format that the client asks for, each as a chunk of HTTP.
 * Nothing is sent before the first one, so an earlier error gets an ordinary answer.
 */
export class JsonStream {
  readonly #ctx: Context;
  readonly #options: JsonStreamOptions;
  #begun: { readonly format: StreamFormat; readonly answer: StreamedAnswer } | undefined;
  #count = 0;

  constructor(ctx: Context, options: JsonStreamOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  get started(): boolean {
    return this.#begun !== undefined;
  }

  /**
   * Sends one JSON text. Resolves when the client has room for more. Rejects with the reason of the signal if the
   * client has left.
   */
  readonly write = async (json: string): Promise<void> => {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const { format, answer } = this.#begin();
    await answer.write(format.value(json, ++this.#count), signal);
  };

  end(): void {
    const { format, answer } = this.#begin();
    answer.end(format.end(this.#count + 1));
  }

  /** Ends a stream that has begun, with the error as its last value. */
  fail(thrown: unknown, includeStacktrace: boolean): void {
    const { format, answer } = this.#begin();
    answer.end(format.error(errorJson(thrown, includeStacktrace), this.#count + 1));
  }

  #begin(): { readonly format: StreamFormat; readonly answer: StreamedAnswer } {
    if (this.#begun) return this.#begun;
    const { format, type } = streamFormatFor(this.#ctx);
    const answer = new StreamedAnswer(this.#ctx, {
      type,
      keepAlive: format.keepAlive,
      keepAliveMs: this.#options.keepAliveMs,
    });
    this.#begun = { format, answer };
    return this.#begun;
  }
}
