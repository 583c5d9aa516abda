import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { raceAbort } from '../core/abort.ts';
import { errorJson } from './error-body.ts';
import { type StreamFormat, streamFormatFor } from './stream-formats.ts';

export interface JsonStreamOptions {
  readonly signal: AbortSignal;
  /** Silence after which a sign of life is sent, where the format has one. */
  readonly keepAliveMs: number;
}

/**
 * The answer of a streaming endpoint: JSON texts in the format that the client asks for, each a chunk of HTTP of its own.
 * Nothing is sent before the first one, so an earlier error can still be an ordinary answer.
 */
export class JsonStream {
  readonly #ctx: Context;
  readonly #options: JsonStreamOptions;
  #format: StreamFormat | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(ctx: Context, options: JsonStreamOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  get started(): boolean {
    return this.#format !== undefined;
  }

  /** Sends one JSON text; resolves when the client has room for more, rejects with the signal's reason when it has gone. */
  readonly write = async (json: string): Promise<void> => {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const format = this.#format ?? this.#start();
    const { res } = this.#ctx;
    this.#keepAlive?.refresh();
    if (!res.write(format.value(json, ++this.#count))) await raceAbort(drained(res), signal);
  };

  end(): void {
    const format = this.#format ?? this.#start();
    this.#finish(format.end(this.#count + 1));
  }

  /** Ends a stream that has begun with the error as its last object. */
  fail(thrown: unknown, includeStacktrace: boolean): void {
    const format = this.#format ?? this.#start();
    this.#finish(format.error(errorJson(thrown, includeStacktrace), this.#count + 1));
  }

  #start(): StreamFormat {
    const { format, type } = streamFormatFor(this.#ctx);
    const { res } = this.#ctx;
    this.#format = format;
    this.#ctx.respond = false;
    res.statusCode = 200;
    res.setHeader('content-type', type);
    res.setHeader('x-accel-buffering', 'no');
    res.setHeader('cache-control', 'no-store');
    const { keepAlive } = format;
    if (keepAlive !== undefined) {
      this.#keepAlive = setInterval(() => {
        if (!res.writableNeedDrain) res.write(keepAlive);
      }, this.#options.keepAliveMs);
      res.once('close', () => clearInterval(this.#keepAlive));
    }
    return format;
  }

  #finish(last: string): void {
    clearInterval(this.#keepAlive);
    this.#ctx.res.end(last);
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
    res.on('drain', done);
    res.on('close', done);
  });
}
