import type { Context } from 'koa';
import type { AnswerHead, AnswerSink } from '../../../endpoints/registry/index.ts';
import { StreamedAnswer } from './streamed-answer.ts';

/** Browsers run nothing in an answer that is not JSON, because the author of a plugin chooses its media type. */
export const RAW_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** The answer of an endpoint that answers with bytes, sent while they come. Nothing is sent before the first bytes. */
export class BytesAnswer implements AnswerSink {
  readonly #ctx: Context;
  readonly #signal: AbortSignal;
  #head: AnswerHead | undefined;
  #answer: StreamedAnswer | undefined;

  constructor(ctx: Context, signal: AbortSignal) {
    this.#ctx = ctx;
    this.#signal = signal;
  }

  get hasBegun(): boolean {
    return this.#head !== undefined;
  }

  /** Whether the client has got a part of the answer. */
  get isSent(): boolean {
    return this.#answer !== undefined;
  }

  begin(head: AnswerHead): void {
    this.#head = head;
  }

  async send(bytes: Uint8Array): Promise<void> {
    this.#signal.throwIfAborted();
    if (bytes.length > 0) await this.#sent().write(bytes, this.#signal);
  }

  end(): void {
    this.#sent().end();
  }

  /** Ends an answer that has failed after a part of it was sent. */
  cut(): void {
    this.#answer?.cut();
  }

  #sent(): StreamedAnswer {
    const { mediaType, status, headers } = this.#head!;
    if (!this.#answer) this.#ctx.vary(CALLER); // the plugin may let caches keep it
    return (this.#answer ??= new StreamedAnswer(this.#ctx, {
      ...{ type: contentType(mediaType), status, keepAlive: undefined, keepAliveMs: 0 },
      headers: { ...Object.fromEntries(headers), ...rawHeaders },
    }));
  }
}

/** Headers that say who asks. */
export const CALLER = 'Authorization, X-Api-Key';

/** Our clients read an answer with this header as bytes. */
export const rawHeaders = { 'content-security-policy': RAW_POLICY, 'x-aana-answer': 'bytes' };

/** Text of the classes that browsers read as another encoding by default. */
export const contentType = (mediaType: string): string =>
  mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;
