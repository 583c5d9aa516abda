import type { Clock } from '../../core/clock.ts';
import type { AanaError } from '../../core/errors.ts';
import type { Fleet } from './fleet.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { deploymentUnavailable, failedDeployment } from './set-errors.ts';

export interface AvailabilityOptions {
  readonly deployment: string;
  readonly fleet: Fleet;
  readonly pool: ReplicaPool<RunningReplica>;
  readonly clock: Clock;
}

/**
 * Knows whether a deployment will serve again: soon, later, or not without somebody who deploys or updates it. Refuses
 * its calls accordingly.
 */
export class Availability {
  readonly #options: AvailabilityOptions;
  #failure: SlotFailure | undefined;
  #lastLoss = '';

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  /** Why all replicas were given up; undefined while some are tried. The failure stays until {@link recover}. */
  get failure(): SlotFailure | undefined {
    return this.#failure;
  }

  /** Why a process was lost the last time; empty before the first loss. */
  get lastLoss(): string {
    return this.#lastLoss;
  }

  /** A process was lost that another one will follow. */
  onLost({ reason }: SlotFailure): void {
    this.#lastLoss = reason;
    const error = this.unavailable();
    if (error) this.#options.pool.refuseWaiting(() => error);
  }

  /**
   * Returns the error for calls while no replica will serve soon: all of them fail to start, and have been tried often
   * enough. Undefined otherwise.
   */
  unavailable(): AanaError | undefined {
    const { deployment, fleet, pool, clock } = this.#options;
    const troubles = fleet.kept.map(({ slot }) => slot.trouble);
    const [first] = troubles;
    if (!first || pool.size > 0 || troubles.includes(undefined)) return undefined;
    const retryAt = Math.min(...troubles.map((trouble) => (trouble ?? first).retryAt));
    return deploymentUnavailable(deployment, first.reason, retryAt - clock.now());
  }

  /** When all replicas were given up, refuses all calls, and those that wait, with the reason. */
  failIfAllFailed(): void {
    const { deployment, fleet, pool } = this.#options;
    const { kept } = fleet;
    const failure = kept[0]?.slot.failure;
    if (!failure || kept.some(({ slot }) => slot.state !== 'failed')) return;
    this.#failure = failure;
    pool.close(() => failedDeployment(deployment, failure.reason), { waiting: true });
  }

  /** Takes calls again after an update, which may have brought replicas that are not given up. */
  recover(): void {
    this.#failure = undefined;
    this.#options.pool.open();
  }
}
