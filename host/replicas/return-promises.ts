interface Promised {
  readonly key: string;
  /** Milliseconds of the clock. */
  readonly dueAt: number;
  readonly expiresAt: number;
  readonly cost: number;
}

/** Clients come a moment early: `Retry-After` is in whole seconds, and clocks differ. */
const EARLY_MS = 500;
/** How late they may come: so long, and a quarter of what they were told to wait. */
const LATE_MS = 10_000;
const LATE_SHARE = 0.25;
const MOST = 10_000;
const MOST_OF_KEY = 64;

/**
 * Who was refused and told when to come back. Their places are kept: without that, those who come for the first time would take the room that
 * those who waited were told of, and most of them would wait in vain.
 */
export class ReturnPromises {
  /** In the order of their making; about that of their expiring. */
  readonly #all = new Set<Promised>();
  readonly #byKey = new Map<string, Set<Promised>>();
  #cost = 0;

  /** Work that was promised and neither claimed nor forgotten. */
  cost(now: number): number {
    this.#expire(now);
    return this.#cost;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Keeps a place for `key`, that of a user or of an address, from `waitMs` on. Over the limits nothing is kept. */
  add(key: string, now: number, waitMs: number, cost: number): void {
    const own = this.#byKey.get(key) ?? new Set();
    if (this.#all.size >= MOST || own.size >= MOST_OF_KEY) return;
    const promised: Promised = { key, dueAt: now + waitMs, expiresAt: now + waitMs + LATE_MS + waitMs * LATE_SHARE, cost };
    this.#all.add(promised);
    this.#byKey.set(key, own.add(promised));
    this.#cost += cost;
  }

  /** Whether one who was told to come back by now is there; the place is taken then. */
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
      if (promised.expiresAt > now) return; // those behind it may have expired, too; they are found when it has
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
