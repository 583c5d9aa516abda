import type { HeldLease } from '../storage/index.ts';

interface Seen {
  readonly token: number;
  readonly renewals: number;
  /** How long the lease was seen without a renewal. */
  readonly ms: number;
}

/**
 * Judges leases by how long this host sees them without a renewal. It compares no clocks, because clocks differ between
 * hosts and jump.
 */
export class SeenLeases {
  #seen: ReadonlyMap<string, Seen> = new Map();

  /** Looks at all leases, `sinceMs` after the look before. Returns those whose hosts have lost their tasks. */
  look(held: readonly HeldLease[], sinceMs: number): HeldLease[] {
    const before = this.#seen;
    const seen = new Map<string, Seen>();
    const lost: HeldLease[] = [];
    for (const lease of held) {
      const { id, lease_token: token, lease_renewals: renewals } = lease;
      const old = before.get(id);
      const ms = old?.token === token && old.renewals === renewals ? old.ms + sinceMs : 0;
      seen.set(id, { token, renewals, ms });
      if (ms >= lease.lease_ms) lost.push(lease);
    }
    this.#seen = seen;
    return lost;
  }

  /** Forgets what was seen, so that each lease lasts its whole length from the next look on. */
  forget(): void {
    this.#seen = new Map();
  }
}
