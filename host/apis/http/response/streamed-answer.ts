import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { raceAbort } from '../../../base/core/abort.ts';

export interface StreamedAnswerOptions {
  readonly type: string;
  /** Default: 200. */
  readonly status?: number;
  /** Headers beside those of every such answer, or instead of them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text that is sent after `keepAliveMs` of silence, so that no proxy closes the connection. */
  readonly keepAlive: string | undefined;
  readonly keepAliveMs: number;
}

/**
 * An answer whose body is sent in parts, each as a chunk of HTTP. Koa no longer handles the response
 * after this object is made.
 */
export class StreamedAnswer {
  readonly #res: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout | undefined;

  constructor(ctx: Context, { type, status = 200, headers = {}, keepAlive, keepAliveMs }: StreamedAnswerOptions) {
    const { res } = ctx;
    this.#res = res;
    ctx.respond = false;
    res.statusCode = status;
    res.setHeader('content-type', type);
    res.setHeader('x-accel-buffering', 'no');
    res.setHeader('cache-control', 'no-store');
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    if (keepAlive === undefined) return;
    this.#keepAlive = setInterval(() => {
      if (!res.writableNeedDrain) res.write(keepAlive);
    }, keepAliveMs);
    res.once('close', () => clearInterval(this.#keepAlive));
  }

  /** Sends the status and the headers before the first part. */
  sendHead(): void {
    this.#res.flushHeaders();
  }

  /**
   * Sends one part. Resolves when the client has room for more. Rejects with the reason of the signal if it aborts
   * first.
   */
  async write(part: string | Uint8Array, signal: AbortSignal): Promise<void> {
    this.#keepAlive?.refresh();
    if (!this.#res.write(part)) await raceAbort(drained(this.#res), signal);
  }

  /** Closes the connection in the middle of the answer, so that the client knows that it is not whole. */
  cut(): void {
    clearInterval(this.#keepAlive);
    this.#res.destroy();
  }

  end(last = ''): void {
    clearInterval(this.#keepAlive);
    this.#res.end(last);
  }
}

/** Resolves at the next `drain`, and when the connection closes. In the second case the signal aborts too. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
  });
}
