import { delay } from '../../base/core/abort.ts';
import { toErrorRecord } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { Pruner, type RateSpending, type Storage } from '../storage/index.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface SharedBucketsOptions {
  readonly storage: Storage;
  readonly limiter: RateLimiter;
  readonly log: Logger;
}

/** Hosts tell each other so often what callers have used. */
const EVERY_MS = 250;
/** More callers are not told, so that a database that is away takes no memory without a limit. */
const MOST_KEYS = 100_000;
/** Callers that one transaction tells of. Other hosts wait for their rows, and reading the answer holds up requests. */
const KEYS_AT_ONCE = 1000;
/** Full buckets stay in the database for so long, because their removal can wait. */
const FULL_MS = 60_000;

/**
 * Shares the buckets of a limiter with the other hosts of a database. A host decides by what it knows, without waiting,
 * and adds what it has allowed to the database afterwards: at once, and then every {@link EVERY_MS} milliseconds. What
 * hosts allow too much in that time is missing in the bucket, so that the caller waits for it. While the database is
 * away, each host counts for itself, and tells what it has allowed when it is back.
 */
export class SharedBuckets {
  readonly #options: SharedBucketsOptions;
  readonly #pruner: Pruner;
  readonly #stopping = new AbortController();
  readonly #untold = new Map<string, RateSpending>();
  #telling: Promise<void> | undefined;
  #isAway = false;

  constructor(options: SharedBucketsOptions) {
    this.#options = options;
    this.#pruner = new Pruner({
      storage: options.storage,
      log: options.log,
      what: 'full buckets of rate limits',
      retentionMs: FULL_MS,
      prune: ({ rateBuckets }, before, limit) => rateBuckets.prune(before, limit),
    });
    options.limiter.onSpent = (spending) => {
      if (this.#stopping.signal.aborted) return;
      this.#add(spending);
      this.#pruner.start();
      this.#telling ??= this.#keepTelling();
    };
  }

  /** Resolves when nothing is left to be told, or the last attempt has failed. */
  async told(): Promise<void> {
    await this.#telling;
  }

  /** Tells what is left, once more. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#pruner.stop();
    await this.#telling;
    await this.#tellAll();
  }

  async #keepTelling(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#untold.size > 0 && !signal.aborted) {
      await this.#tellAll();
      await delay(EVERY_MS, signal).catch(() => {});
    }
    this.#telling = undefined;
  }

  /** Tells what is left now, unless the database is away. */
  async #tellAll(): Promise<void> {
    for (let left = this.#untold.size; left > 0; left -= KEYS_AT_ONCE) if (!(await this.#tellSome())) return;
  }

  /** Returns whether the database is there. */
  async #tellSome(): Promise<boolean> {
    const { storage, limiter, log } = this.#options;
    const told: RateSpending[] = [];
    for (const [key, spending] of this.#untold) {
      if (told.length === KEYS_AT_ONCE) break;
      this.#untold.delete(key);
      told.push(spending);
    }
    try {
      const lacking = await storage.write(({ rateBuckets }) => rateBuckets.take(told));
      this.#isAway = false;
      for (const { key, count, stepMs } of lacking) {
        const since = this.#untold.get(key); // spent while the database answered
        limiter.set({ key, stepMs, count: count + ((since?.count ?? 0) * (since?.stepMs ?? 0)) / stepMs });
      }
    } catch (error) {
      if (toErrorRecord(error).kind !== 'unavailable') {
        // It would refuse them again, and nobody would hear of the other callers.
        log.error('the database refuses what callers have used of rate limits', { callers: told.length, error });
        return true;
      }
      for (const spending of told) this.#add(spending);
      if (!this.#isAway) log.warn('hosts do not know what each other have allowed of rate limits', { error });
      this.#isAway = true;
      return false;
    }
    return true;
  }

  #add({ key, count, stepMs }: RateSpending): void {
    const before = this.#untold.get(key);
    if (!before && this.#untold.size >= MOST_KEYS) return;
    this.#untold.set(key, { key, count: (before?.count ?? 0) + count, stepMs });
  }
}
