import { fail } from '../../base/core/errors.ts';
import { tooManyRequests } from './errors.ts';

/**
 * An event handler that allows `capacity` requests in any `interval_seconds`, from all callers together. Deferred
 * requests do not count. Endpoints with the same handler share its capacity.
 *
 *     app.registerEndpoint({ …, event_handlers: [new RateLimitHandler(2, 30)] })
 */
export class RateLimitHandler {
  readonly capacity: number;
  readonly interval_seconds: number;
  /** The times of the last `capacity` requests. The time at `#next` is the oldest. */
  readonly #taken: number[] = [];
  #next = 0;
  readonly #now: () => number;

  constructor(
    capacity: number,
    intervalSeconds: number,
    { now = () => performance.now() }: { readonly now?: () => number } = {},
  ) {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > 1_000_000)
      throw fail(
        'ValidationError',
        `RateLimitHandler: capacity must be a whole number from 1 to 1000000 (it is ${capacity})`,
      );
    if (!(intervalSeconds > 0 && intervalSeconds <= 31_536_000))
      throw fail(
        'ValidationError',
        `RateLimitHandler: interval_seconds must be a number above 0, at most 31536000 (it is ${intervalSeconds})`,
      );
    this.capacity = capacity;
    this.interval_seconds = intervalSeconds;
    this.#now = now;
  }

  /** Counts a request. Throws `TooManyRequestsException`. */
  handle(path: string, { defer }: { readonly defer: boolean }): void {
    if (defer) return;
    const now = this.#now();
    const oldest = this.#taken[this.#next] ?? -Infinity;
    const waitMs = oldest + this.interval_seconds * 1000 - now;
    if (waitMs > 0) throw tooManyRequests(this, waitMs / 1000, { to: path });
    this.#taken[this.#next] = now;
    this.#next = (this.#next + 1) % this.capacity;
  }
}
