import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { raceAbort } from '../core/abort.ts';
import { errorJson } from './error-body.ts';

/**
 * The answer of a streaming endpoint: JSON texts one after the other with nothing between them, each a chunk of HTTP of its own.
 * Nothing is sent before the first one, so an earlier error can still be an ordinary answer.
 */
export class JsonStream {
  readonly #ctx: Context;
  readonly #signal: AbortSignal;
  #started = false;

  constructor(ctx: Context, signal: AbortSignal) {
    this.#ctx = ctx;
    this.#signal = signal;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Sends one JSON text; resolves when the client has room for more, rejects with the signal's reason when it has gone. */
  readonly write = async (chunk: string): Promise<void> => {
    this.#signal.throwIfAborted();
    this.#start();
    const { res } = this.#ctx;
    if (!res.write(chunk)) await raceAbort(drained(res), this.#signal);
  };

  end(): void {
    this.#start();
    this.#ctx.res.end();
  }

  /** Ends a stream that has begun with the error as its last object. */
  fail(thrown: unknown, includeStacktrace: boolean): void {
    this.#ctx.res.end(errorJson(thrown, includeStacktrace));
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const { res } = this.#ctx;
    this.#ctx.respond = false;
    res.statusCode = 200;
    res.setHeader('content-type', 'application/json-seq');
    res.setHeader('x-accel-buffering', 'no');
    res.setHeader('cache-control', 'no-store');
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
