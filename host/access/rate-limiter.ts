/** So many requests in so many seconds. */
export interface RateLimit {
  readonly capacity: number;
  readonly interval_seconds: number;
}

/** Whose share of which limit: equal keys share. */
export interface RateCheck {
  readonly key: string;
  readonly limit: RateLimit;
}

export interface RateVerdict {
  readonly check: RateCheck;
  readonly isAllowed: boolean;
  /** Requests that would be taken now, after this one. */
  readonly remaining: number;
  /** Until the whole capacity is there again. */
  readonly resetS: number;
  /** Until one more would be taken; 0 when it would be now. */
  readonly retryAfterS: number;
}

/** Sharers that are remembered. When there are more, those who came first begin anew. */
const MAX_KEYS = 100_000;

/**
 * Token buckets, as the generic cell rate algorithm keeps them: one number for each sharer, the time at which its bucket would be full again. A
 * bucket holds `capacity` requests and fills evenly in `interval_seconds`.
 */
export class RateLimiter {
  readonly #fullAt = new Map<string, number>();
  readonly #now: () => number;
  readonly #maxKeys: number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor({ now = () => performance.now(), maxKeys = MAX_KEYS }: { readonly now?: () => number; readonly maxKeys?: number } = {}) {
    this.#now = now;
    this.#maxKeys = maxKeys;
  }

  /** Takes one request out of each bucket, or out of none when one of them has no room. */
  take(checks: readonly RateCheck[]): RateVerdict[] {
    const now = this.#now();
    const allAllowed = checks.every((check) => this.#wait(check, now) === 0);
    return checks.map((check) => {
      const waitMs = this.#wait(check, now);
      if (allAllowed) this.#set(check.key, this.#from(check.key, now) + step(check.limit), now);
      const missingMs = this.#from(check.key, now) - now;
      const remaining = Math.floor((check.limit.interval_seconds * 1000 - missingMs) / step(check.limit) + TOLERANCE);
      return { check, isAllowed: waitMs === 0, remaining: Math.max(0, remaining), resetS: missingMs / 1000, retryAfterS: waitMs / 1000 };
    });
  }

  /** Puts a request back that was taken. */
  giveBack({ key, limit }: RateCheck): void {
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#fullAt.set(key, fullAt - step(limit));
  }

  /** How many sharers are remembered. */
  get size(): number {
    return this.#fullAt.size;
  }

  /** Milliseconds until one request more fits. */
  #wait({ key, limit }: RateCheck, now: number): number {
    const waitMs = this.#from(key, now) + step(limit) - limit.interval_seconds * 1000 - now;
    return waitMs > TOLERANCE * step(limit) ? waitMs : 0;
  }

  #from(key: string, now: number): number {
    return Math.max(now, this.#fullAt.get(key) ?? now);
  }

  #set(key: string, fullAt: number, now: number): void {
    this.#fullAt.delete(key); // so that the order is that of use
    if (this.#fullAt.size >= this.#maxKeys) this.#makeRoom(now);
    this.#fullAt.set(key, fullAt);
  }

  /** A full bucket is as one that was never used. */
  #makeRoom(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
    for (const key of this.#fullAt.keys()) {
      if (this.#fullAt.size <= this.#maxKeys * 0.9) return; // some at a time: looking through all of them takes a while
      this.#fullAt.delete(key);
    }
  }
}

/** Thirds and the like do not add up exactly. */
const TOLERANCE = 1e-6;

/** Milliseconds in which one request's room comes back. */
function step({ capacity, interval_seconds: interval }: RateLimit): number {
  return (interval * 1000) / capacity;
}
