import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { raceAbort } from '../../core/abort.ts';

export interface StreamedAnswerOptions {
  readonly type: string;
  /** Text that is sent after `keepAliveMs` of silence, so that no proxy takes the connection for dead. */
  readonly keepAlive: string | undefined;
  readonly keepAliveMs: number;
}

/**
 * An answer with status 200 whose body is sent in parts, each a chunk of HTTP. Koa leaves the response alone once this
 * exists.
 */
export class StreamedAnswer {
  readonly #res: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout | undefined;

  constructor(ctx: Context, { type, keepAlive, keepAliveMs }: StreamedAnswerOptions) {
    const { res } = ctx;
    this.#res = res;
    ctx.respond = false;
    res.statusCode = 200;
    res.setHeader('content-type', type);
    res.setHeader('x-accel-buffering', 'no');
    res.setHeader('cache-control', 'no-store');
    if (keepAlive === undefined) return;
    this.#keepAlive = setInterval(() => {
      if (!res.writableNeedDrain) res.write(keepAlive);
    }, keepAliveMs);
    res.once('close', () => clearInterval(this.#keepAlive));
  }

  /** Sends the status and the headers now instead of with the first part. */
  sendHead(): void {
    this.#res.flushHeaders();
  }

  /**
   * Sends one part. Resolves when the client has room for more; rejects with the signal's reason when that comes first.
   */
  async write(text: string, signal: AbortSignal): Promise<void> {
    this.#keepAlive?.refresh();
    if (!this.#res.write(text)) await raceAbort(drained(this.#res), signal);
  }

  end(last = ''): void {
    clearInterval(this.#keepAlive);
    this.#res.end(last);
  }
}

/** Resolves at the next `drain`, and also when the connection is gone: the signal tells that. */
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
