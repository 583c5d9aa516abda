/** At most `capacity` requests in `interval_seconds`. */
export interface RateLimit {
  readonly capacity: number;
  readonly interval_seconds: number;
}

/** A limit, and the caller that it is checked for. Checks with the same key count together. */
export interface RateCheck {
  readonly key: string;
  readonly limit: RateLimit;
}

export interface RateVerdict {
  readonly check: RateCheck;
  readonly isAllowed: boolean;
  /** The number of further requests that the limit allows now. */
  readonly remaining: number;
  /** Seconds until the whole capacity is available again. */
  readonly resetS: number;
  /** Seconds until the limit allows one more request; 0 if it allows one now. */
  readonly retryAfterS: number;
}

/**
 * The most keys that are remembered. With more keys, the limiter forgets the keys that were used longest ago, and they
 * start with a full bucket.
 */
const MAX_KEYS = 100_000;

/**
 * Limits requests with token buckets. A bucket holds `capacity` requests and refills evenly in `interval_seconds`. As
 * in the generic cell rate algorithm, the limiter stores one number for each key: the time at which the bucket is full
 * again.
 */
export class RateLimiter {
  readonly #fullAt = new Map<string, number>();
  readonly #now: () => number;
  readonly #maxKeys: number;

  /** `now` returns the milliseconds of a monotonic clock. */
  constructor({
    now = () => performance.now(),
    maxKeys = MAX_KEYS,
  }: { readonly now?: () => number; readonly maxKeys?: number } = {}) {
    this.#now = now;
    this.#maxKeys = maxKeys;
  }

  /**
   * Takes one request from the bucket of each check. Takes none if one of the buckets is empty. Returns one verdict for
   * each check, in order.
   */
  take(checks: readonly RateCheck[]): RateVerdict[] {
    const before = this.look(checks);
    if (!before.every(({ isAllowed }) => isAllowed)) return before;
    for (const check of checks) this.spend(check, 1);
    return this.look(checks).map((after, i) => ({ ...before[i]!, remaining: after.remaining, resetS: after.resetS }));
  }

  /** Returns the verdicts for one request of each check, in order, without taking it. */
  look(checks: readonly RateCheck[]): RateVerdict[] {
    const now = this.#now();
    return checks.map((check) => {
      const waitMs = this.#wait(check, now);
      const missingMs = this.#from(check.key, now) - now;
      const remaining = Math.floor((check.limit.interval_seconds * 1000 - missingMs) / step(check.limit) + TOLERANCE);
      return {
        check,
        isAllowed: waitMs === 0,
        remaining: Math.max(0, remaining),
        resetS: missingMs / 1000,
        retryAfterS: waitMs / 1000,
      };
    });
  }

  /** Takes `count` from a bucket, which then may lack some: nothing more is allowed until they have come. */
  spend({ key, limit }: RateCheck, count: number): void {
    const now = this.#now();
    this.#set(key, this.#from(key, now) + count * step(limit), now);
  }

  /** Returns a request to its bucket. */
  giveBack({ key, limit }: RateCheck): void {
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#fullAt.set(key, fullAt - step(limit));
  }

  /** The number of keys that are remembered. */
  get size(): number {
    return this.#fullAt.size;
  }

  /** Returns the milliseconds until the limit allows one more request; 0 if it allows one now. */
  #wait({ key, limit }: RateCheck, now: number): number {
    const waitMs = this.#from(key, now) + step(limit) - limit.interval_seconds * 1000 - now;
    return waitMs > TOLERANCE * step(limit) ? waitMs : 0;
  }

  #from(key: string, now: number): number {
    return Math.max(now, this.#fullAt.get(key) ?? now);
  }

  #set(key: string, fullAt: number, now: number): void {
    this.#fullAt.delete(key); // the map then has the keys in the order of their last use
    if (this.#fullAt.size >= this.#maxKeys) this.#makeRoom(now);
    this.#fullAt.set(key, fullAt);
  }

  /** Forgets full buckets first, because a new bucket is full, too. */
  #makeRoom(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
    for (const key of this.#fullAt.keys()) {
      // A tenth at once, because the loop over all buckets is slow.
      if (this.#fullAt.size <= this.#maxKeys * 0.9) return;
      this.#fullAt.delete(key);
    }
  }
}

/** The part of a request by which a sum may be off, because floating-point numbers cannot represent thirds exactly. */
const TOLERANCE = 1e-6;

/** Returns the milliseconds in which a bucket regains one request. */
function step({ capacity, interval_seconds: interval }: RateLimit): number {
  return (interval * 1000) / capacity;
}
