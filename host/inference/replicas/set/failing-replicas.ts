import type { Clock } from '../../../base/core/clock.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Fleet } from './fleet.ts';

/** The longest wait between two replacements, in milliseconds. */
const MAX_REPLACEMENT_MS = 600_000;

/**
 * Replaces replicas of which most calls fail by their own fault. Replaces one at a time, because the others may still
 * serve some calls. When a new replica is no better, the next replacement waits longer.
 */
export class FailingReplicas {
  readonly #fleet: Fleet;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Replacements since a replica was last healthy. */
  #replacements = 0;
  #nextAt = 0;

  constructor(fleet: Fleet, clock: Clock, log: Logger) {
    this.#fleet = fleet;
    this.#clock = clock;
    this.#log = log;
  }

  /** Judges the outcomes of calls since the last check. Does nothing while any replica is not ready. */
  check(): void {
    const kept = this.#fleet.kept.filter(({ slot }) => slot.state !== 'failed');
    if (this.#clock.now() < this.#nextAt || kept.some(({ slot }) => slot.replica?.state !== 'ready')) return;
    for (const { slot, version } of kept) {
      const { name, replica } = slot;
      const health = replica && this.#fleet.checkHealth(replica);
      if (health?.isHealthy) this.#replacements = 0;
      if (!replica || !health || health.isHealthy) continue;
      this.#log.warn('replica replaced', { replica: name, reason: health.reason });
      this.#nextAt = this.#clock.now() + Math.min(MAX_REPLACEMENT_MS, version.healthPeriodMs * 2 ** this.#replacements);
      this.#replacements += 1;
      void replica.stop(version.graceMs, health.reason);
      return;
    }
  }
}
