interface Promised {
  readonly key: string;
  /** Milliseconds of the clock. */
  readonly dueAt: number;
  readonly expiresAt: number;
  readonly cost: number;
}

/** Clients may come this early, because `Retry-After` is in whole seconds and clocks differ. */
const EARLY_MS = 500;
/** Clients may come this late, plus this share of the time that they were told to wait. */
const LATE_MS = 10_000;
const LATE_SHARE = 0.25;
const MOST = 10_000;
const MOST_OF_KEY = 64;

/**
 * Keeps places for refused callers that were told when to come back. Otherwise new callers would take the room for
 * which the returning callers waited.
 */
export class ReturnPromises {
  /** In the order of creation, which is roughly the order of expiry. */
  readonly #all = new Set<Promised>();
  readonly #byKey = new Map<string, Set<Promised>>();
  #cost = 0;

  /** Returns the promised work that is neither claimed nor expired. */
  cost(now: number): number {
    this.#expire(now);
    return this.#cost;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Keeps a place from `waitMs` on. `key` names a user or an address. Does nothing above the limits. */
  add(key: string, now: number, waitMs: number, cost: number): void {
    const own = this.#byKey.get(key) ?? new Set();
    if (this.#all.size >= MOST || own.size >= MOST_OF_KEY) return;
    const promised: Promised = {
      key,
      dueAt: now + waitMs,
      expiresAt: now + waitMs + LATE_MS + waitMs * LATE_SHARE,
      cost,
    };
    this.#all.add(promised);
    this.#byKey.set(key, own.add(promised));
    this.#cost += cost;
  }

  /** Returns whether a place is kept for `key` now, and takes it. */
  claim(key: string, now: number): boolean {
    this.#expire(now);
    for (const promised of this.#byKey.get(key) ?? []) {
      if (promised.dueAt - EARLY_MS > now) continue;
      this.#remove(promised);
      return true;
    }
    return false;
  }

  #expire(now: number): void {
    for (const promised of this.#all) {
      if (promised.expiresAt > now) return; // expired promises behind this one are removed after it
      this.#remove(promised);
    }
  }

  #remove(promised: Promised): void {
    if (!this.#all.delete(promised)) return;
    this.#cost = this.#all.size === 0 ? 0 : this.#cost - promised.cost;
    const own = this.#byKey.get(promised.key);
    own?.delete(promised);
    if (own?.size === 0) this.#byKey.delete(promised.key);
  }
}
