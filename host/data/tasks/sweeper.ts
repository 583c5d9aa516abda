import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { type HeldLease, type Storage } from '../storage/index.ts';
import { SeenLeases } from './seen-leases.ts';
import { MOST_DELAY_MS } from './retry-policy.ts';
import type { TaskFiles } from './task-files.ts';

export interface SweeperOptions {
  readonly storage: Storage;
  readonly files: TaskFiles;
  readonly log: Logger;
  readonly leaseMs: number;
  /** Returns whether this host runs the task. Such a task is not lost, whatever its lease says. */
  readonly runs: (id: string) => boolean;
  /** How long ended tasks are kept; 0 is for ever. */
  readonly retentionMs: number;
}

const BATCH = 100;
const PRUNE_EVERY_MS = 600_000;
/**
 * The part of a lease after which leases are renewed. After the database took no writes for so long, hosts may have
 * missed a renewal.
 */
const MOST_AWAY = 0.25;
/** The time after an outage, besides the length of a lease, in which hosts connect again and renew their leases. */
const RECOVERY_MS = 20_000;
/** A sweep that comes later than this many intervals comes after a pause of this process or of its machine. */
const MOST_INTERVALS = 2;

/**
 * Puts tasks of lost hosts back into the queue, and removes tasks that ended long ago. Every host has a sweeper; they
 * do not disturb each other.
 */
export class Sweeper extends RepeatedWork {
  readonly #options: SweeperOptions;
  #prunedAt = Number.NEGATIVE_INFINITY;
  readonly #leases = new SeenLeases();
  readonly #everyMs: number;
  /** The time of the last look at the leases. */
  #lookedAt = 0;
  /** The time since which the database takes no writes; undefined while it does. */
  #awaySince: number | undefined;
  /** The time from which on leases are looked at after an outage. */
  #looksFrom = 0;

  constructor(options: SweeperOptions) {
    const everyMs = Math.max(100, options.leaseMs / 4);
    super({
      everyMs,
      work: async (signal) => {
        await this.#sweep();
        if (performance.now() - this.#prunedAt > PRUNE_EVERY_MS) await this.#prune(signal);
      },
      onError: (error) => options.log.warn('lost and old tasks were not swept', { error }),
    });
    this.#options = options;
    this.#everyMs = everyMs;
  }

  /**
   * Ends lost attempts. After an outage of the database it first gives hosts the time to renew their leases, because
   * their tasks still run and must not run twice. Other hosts need this time after a pause of this process, too.
   */
  async #sweep(): Promise<void> {
    const { storage, log, leaseMs, runs } = this.#options;
    const startedAt = performance.now();
    try {
      // The write shows whether hosts can renew leases.
      await storage.write(({ tasks }) => Promise.all([tasks.probe(), tasks.hasten(MOST_DELAY_MS)]), { isUrgent: true });
    } catch (error) {
      this.#awaySince ??= startedAt;
      this.#leases.forget();
      throw error;
    }
    const now = performance.now();
    if (now - (this.#awaySince ?? startedAt) > leaseMs * MOST_AWAY) this.#looksFrom = now + RECOVERY_MS;
    this.#awaySince = undefined;
    if (now < this.#looksFrom) return this.#leases.forget();
    const sinceMs = Math.min(now - this.#lookedAt, this.#everyMs * MOST_INTERVALS);
    this.#lookedAt = now;
    const held = await storage.read(({ tasks }) => tasks.held());
    const lost = this.#leases.look(held, sinceMs).filter(({ id }) => !runs(id));
    if (lost.length > 0) await endLost(storage, lost, log);
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { storage, files, retentionMs } = this.#options;
    this.#prunedAt = performance.now();
    for (let removed = BATCH; retentionMs > 0 && removed === BATCH && !signal.aborted;) {
      const pruned = await storage.write(({ tasks, connection }) => tasks.prune(connection.now() - retentionMs, BATCH));
      await files.remove(pruned.flat());
      removed = pruned.length;
    }
    await files.sweep(signal);
  }
}

/**
 * Ends lost attempts, except those whose host has renewed the lease. Another attempt follows, except after the last.
 */
export async function endLost(storage: Pick<Storage, 'write'>, lost: readonly HeldLease[], log: Logger): Promise<void> {
  for (let from = 0; from < lost.length; from += BATCH)
    await storage.write(async ({ tasks }) => {
      for (const lease of lost.slice(from, from + BATCH)) {
        if (!(await tasks.lockLease(lease))) continue;
        log.warn('a host lost a task', { task: lease.id, attempt: lease.num_retries });
        const error = JSON.stringify({
          error: 'HeartbeatTimeoutError',
          message: `attempt ${lease.num_retries} was lost: its host ended or stopped responding`,
          data: {},
          stacktrace: null,
        });
        const isLast = lease.num_retries >= lease.max_attempts;
        await tasks.finish(
          lease,
          isLast
            ? { kind: 'fail', error, expired: true }
            : { kind: 'release', error, delayMs: 0, outcome: 'lost', expired: true },
        );
      }
    });
}
