import { tooManyRequests } from './errors.ts';
import { type RateLimit, RateLimiter } from './rate-limiter.ts';
import { clientNetwork } from './client-network.ts';

/**
 * Limits the look-ups of unknown keys by address, because each costs the database a query and anybody can invent keys.
 */
export class KeyLookUps {
  readonly #limit: RateLimit | null;
  readonly #limiter: RateLimiter;

  /** `limit` null is no limit. */
  constructor(limit: RateLimit | null, limiter: RateLimiter = new RateLimiter()) {
    this.#limit = limit;
    this.#limiter = limiter;
  }

  /**
   * Runs a look-up. A look-up that finds a key or fails counts only while it runs. Throws `TooManyRequestsException`
   * when the address has no look-up left. A caller inside this process has the address undefined and no limit.
   */
  async run<T>(address: string | undefined, lookUp: () => Promise<T | undefined>): Promise<T | undefined> {
    if (this.#limit === null || address === undefined) return lookUp();
    const check = { key: clientNetwork(address), limit: this.#limit };
    const [verdict] = this.#limiter.take([check]);
    if (verdict?.isAllowed === false)
      throw tooManyRequests(this.#limit, verdict.retryAfterS, { what: 'unknown API key' });
    let isUnknown = false;
    try {
      const found = await lookUp();
      isUnknown = found === undefined;
      return found;
    } finally {
      if (!isUnknown) this.#limiter.giveBack(check);
    }
  }
}
