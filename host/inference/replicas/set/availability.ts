import type { Clock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { Fence, Fleet } from './fleet.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { RunningReplica } from '../process/running-replica.ts';
import { deploymentUnavailable, failedDeployment } from './set-errors.ts';

export interface AvailabilityOptions {
  readonly deployment: string;
  readonly fleet: Fleet;
  readonly pool: ReplicaPool<RunningReplica>;
  readonly clock: Clock;
  /** See {@link FleetOptions.fence}. */
  readonly fence?: Fence | undefined;
}

/**
 * Tracks whether a deployment without a ready replica will serve again: soon, later, or only after it is deployed or
 * updated. Refuses its calls accordingly.
 */
export class Availability {
  readonly #options: AvailabilityOptions;
  #failure: SlotFailure | undefined;
  #lastLoss = '';

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  /** Reason for which all replicas were given up; otherwise undefined. The failure stays until {@link recover}. */
  get failure(): SlotFailure | undefined {
    return this.#failure;
  }

  /** Reason of the latest loss of a process; empty before the first loss. */
  get lastLoss(): string {
    return this.#lastLoss;
  }

  /** Called when a process was lost and will be restarted. */
  onLost({ reason }: SlotFailure): void {
    this.#lastLoss = reason;
    this.check();
  }

  /** Refuses the waiting calls while no replica will serve soon. */
  check(): void {
    const error = this.unavailable();
    if (error) this.#options.pool.refuseWaiting(() => error);
  }

  /**
   * Returns the error for calls while no replica will serve soon, because none may start, or because all of them have
   * repeatedly failed to start. Undefined otherwise.
   */
  unavailable(): AanaError | undefined {
    const { deployment, fleet, pool, clock, fence } = this.#options;
    const refusal = fence?.();
    if (refusal && fleet.kept.every(({ slot: { replica } }) => !replica || replica.state === 'exited')) return refusal;
    const troubles = fleet.kept.map(({ slot }) => slot.trouble);
    const [first] = troubles;
    if (!first || pool.size > 0 || troubles.includes(undefined)) return undefined;
    const retryAt = Math.min(...troubles.map((trouble) => (trouble ?? first).retryAt));
    return deploymentUnavailable(deployment, first.reason, retryAt - clock.now());
  }

  /** If all replicas were given up, refuses all new and waiting calls with the reason. */
  failIfAllFailed(): void {
    const { deployment, fleet, pool } = this.#options;
    const { kept } = fleet;
    const failure = kept[0]?.slot.failure;
    if (!failure || kept.some(({ slot }) => slot.state !== 'failed')) return;
    this.#failure = failure;
    pool.close(() => failedDeployment(deployment, failure.reason), { waiting: true });
  }

  /** Takes calls again. Called after an update, which may have started working replicas. */
  recover(): void {
    this.#failure = undefined;
    this.#options.pool.open();
  }
}
