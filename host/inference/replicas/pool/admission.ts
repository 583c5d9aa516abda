import type { Clock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { Queued } from '../../../base/core/fair-queue.ts';
import { type RequestContext, remainingMs, tenantOf } from '../../../base/core/request-context.ts';
import { deploymentFull, deploymentOverloaded } from './overload-errors.ts';
import { ReturnPromises } from './return-promises.ts';
import type { WaitingCalls } from './waiting-calls.ts';
import type { Workload } from './workload.ts';

/** Facts about a call before it is admitted. */
export interface Applicant extends Queued {
  /** Key of the user or client. Undefined for an unknown client. A refused user or client gets a time to come back. */
  readonly key: string | undefined;
  /** Milliseconds until its deadline. */
  readonly leftMs: number | undefined;
  /** Milliseconds by which such calls sometimes exceed `cost`. */
  readonly margin: number;
}

export interface AdmissionOptions {
  readonly deployment: string;
  readonly clock: Clock;
  readonly workload: Workload;
  readonly waiting: WaitingCalls<unknown>;
}

/** Current capacity of the pool. */
export interface Room {
  /** Calls that the replicas take at the same time; 0 without a replica. */
  readonly capacity: number;
  /** Calls that may wait. */
  readonly maxQueued: number;
}

/** Cost of a call without known duration. It is more than 0, so that users take turns with such calls, too. */
const LEAST_COST_MS = 1;
/** Share of its possible waiting time that a new call may use while places are kept for returning callers. */
const NEWCOMERS_SHARE = 0.25;
/** A refused caller is told to come back in this share of the time that it could have waited. The rest is a margin. */
const RETURNERS_SHARE = 0.5;

/** Decides whether a call may wait: the queue has a place for it, and its turn comes early enough for its deadline. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #promises = new ReturnPromises();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Returns the milliseconds that a call of `method` is expected to take, at least a small amount. */
  costOf(method: string | undefined): number {
    return Math.max(LEAST_COST_MS, this.#options.workload.expect(method)?.mean ?? 0);
  }

  /** Returns the call in the terms of the queue. */
  applicant({
    userId,
    client,
    priority = 0,
    weight,
    method,
    deadlineAt,
  }: Pick<RequestContext, 'userId' | 'client' | 'priority' | 'weight' | 'deadlineAt'> & {
    readonly method?: string | undefined;
  }): Applicant {
    const { deviation = 0 } = this.#options.workload.expect(method) ?? {};
    const tenant = tenantOf({ userId, client }) || null;
    return {
      userId: tenant,
      key: tenant ?? undefined,
      priority,
      weight,
      cost: this.costOf(method),
      margin: deviation,
      leftMs: remainingMs({ deadlineAt }),
    };
  }

  /**
   * Throws `DeploymentFull` or `DeploymentOverloaded` when the call may not wait. When the queue is full, a user with
   * more calls in it loses the last one.
   */
  admit(applicant: Applicant, room: Room): void {
    const { clock, waiting } = this.#options;
    const now = clock.now();
    const { key, cost, margin, leftMs } = applicant;
    const isReturning = key !== undefined && this.#promises.claim(key, now);
    if (waiting.size >= room.maxQueued) {
      const victim = waiting.victimFor(applicant.userId);
      if (!victim) throw this.#full(applicant, room, now);
      victim.refuse(this.#full({ ...applicant, userId: victim.userId, key: undefined }, room, now));
    }
    if (leftMs === undefined || room.capacity === 0) return;
    const waitMs = this.#waitOf(applicant, room);
    const mostMs = leftMs - cost - margin;
    const share = isReturning || this.#promises.cost(now) === 0 ? 1 : NEWCOMERS_SHARE;
    if (waitMs > 0 && waitMs > share * mostMs) throw this.#overloaded(applicant, room, waitMs, now);
  }

  /**
   * Returns an error when a call whose turn has come may no longer begin, because such calls take longer than the time
   * left. Undefined when it may begin.
   */
  lateness(
    {
      deadline,
      method,
      cost,
    }: { readonly deadline: number | undefined; readonly method: string | undefined; readonly cost: number },
    room: Room,
  ): AanaError | undefined {
    const { deployment, clock, workload } = this.#options;
    if (deadline === undefined || workload.running === 0 || room.capacity === 0) return undefined;
    const { mean, deviation } = workload.expect(method) ?? { mean: cost, deviation: 0 };
    const leftMs = deadline - clock.now();
    if (leftMs >= mean - deviation) return undefined;
    return deploymentOverloaded(deployment, {
      waitMs: 0,
      serviceMs: mean,
      leftMs,
      retryAfterS: secondsOf(this.#waitOf({ userId: null, priority: 0, cost: mean }, room)),
    });
  }

  #waitOf(call: Queued, { capacity }: Room): number {
    const { workload, waiting } = this.#options;
    return workload.waitOf(call, capacity, waiting.inTurn.workAhead(call));
  }

  #overloaded(applicant: Applicant, room: Room, waitMs: number, now: number): AanaError {
    const { cost, leftMs = 0 } = applicant;
    const retryAfterS = this.#comeBack(applicant, room, now, RETURNERS_SHARE * Math.max(0, leftMs - cost));
    return deploymentOverloaded(this.#options.deployment, { waitMs, serviceMs: cost, leftMs, retryAfterS });
  }

  #full(applicant: Applicant, room: Room, now: number): AanaError {
    return deploymentFull(
      this.#options.deployment,
      room.maxQueued,
      room.capacity === 0 ? 1 : this.#comeBack(applicant, room, now, 0),
    );
  }

  /** Returns the seconds after which a refused caller gets a place and waits at most `waitMs`. Keeps that place. */
  #comeBack(applicant: Applicant, room: Room, now: number, waitMs: number): number {
    const ahead = this.#waitOf(applicant, room) + this.#promises.cost(now) / room.capacity;
    const seconds = secondsOf(ahead - waitMs);
    if (applicant.key !== undefined) this.#promises.add(applicant.key, now, seconds * 1000, applicant.cost);
    return seconds;
  }
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));
