import type { RateSpending } from '../storage/index.ts';

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

interface Bucket {
  readonly fullAt: number;
  /** Milliseconds in which it regains one request. */
  readonly stepMs: number;
}

/**
 * The most keys that are remembered. With more keys, the limiter forgets the keys that were used longest ago, and they
 * start with a full bucket.
 */
const MAX_KEYS = 100_000;

/**
 * Limits requests with token buckets. A bucket holds `capacity` requests and refills evenly in `interval_seconds`. As
 * in the generic cell rate algorithm, the limiter stores the time at which the bucket of a key is full again. When the
 * limit of a key changes, the requests that the bucket lacks count for the new limit.
 */
export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;
  readonly #maxKeys: number;
  /** Called after requests were taken or given back. */
  onSpent: ((spending: RateSpending) => void) | undefined;

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
      const missingMs = this.#missing(check, now);
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
  spend(check: RateCheck, count: number): void {
    const now = this.#now();
    const stepMs = step(check.limit);
    this.#set(check.key, { fullAt: now + this.#missing(check, now) + count * stepMs, stepMs }, now);
    this.onSpent?.({ key: check.key, count, stepMs });
  }

  /** Returns a request to its bucket. */
  giveBack({ key }: RateCheck): void {
    const bucket = this.#buckets.get(key);
    if (!bucket) return;
    this.#buckets.set(key, { ...bucket, fullAt: bucket.fullAt - bucket.stepMs });
    this.onSpent?.({ key, count: -1, stepMs: bucket.stepMs });
  }

  /** Sets what the bucket of a key lacks: `count` requests, each of which comes back in `stepMs` milliseconds. */
  set({ key, count, stepMs }: RateSpending): void {
    const now = this.#now();
    this.#set(key, { fullAt: now + count * stepMs, stepMs }, now);
  }

  /** The number of keys that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Returns the milliseconds until the limit allows one more request; 0 if it allows one now. */
  #wait(check: RateCheck, now: number): number {
    const stepMs = step(check.limit);
    const waitMs = this.#missing(check, now) + stepMs - check.limit.interval_seconds * 1000;
    return waitMs > TOLERANCE * stepMs ? waitMs : 0;
  }

  /** Returns the milliseconds in which the limit refills what the bucket lacks. */
  #missing({ key, limit }: RateCheck, now: number): number {
    const { fullAt, stepMs } = this.#buckets.get(key) ?? { fullAt: now, stepMs: 1 };
    return (Math.max(0, fullAt - now) * step(limit)) / stepMs;
  }

  #set(key: string, bucket: Bucket, now: number): void {
    this.#buckets.delete(key); // the map then has the keys in the order of their last use
    if (this.#buckets.size >= this.#maxKeys) this.#makeRoom(now);
    this.#buckets.set(key, bucket);
  }

  /** Forgets full buckets first, because a new bucket is full, too. */
  #makeRoom(now: number): void {
    for (const [key, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(key);
    for (const key of this.#buckets.keys()) {
      // A tenth at once, because the loop over all buckets is slow.
      if (this.#buckets.size <= this.#maxKeys * 0.9) return;
      this.#buckets.delete(key);
    }
  }
}

/** The part of a request by which a sum may be off, because floating-point numbers cannot represent thirds exactly. */
const TOLERANCE = 1e-6;

/** Returns the milliseconds in which a bucket regains one request. */
function step({ capacity, interval_seconds: interval }: RateLimit): number {
  return (interval * 1000) / capacity;
}
