import type { Clock } from '../../core/clock.ts';
import type { AanaError } from '../../core/errors.ts';
import type { Queued } from '../../core/fair-queue.ts';
import { type RequestContext, remainingMs } from '../../core/request-context.ts';
import { deploymentFull, deploymentOverloaded } from './overload-errors.ts';
import { ReturnPromises } from './return-promises.ts';
import type { WaitingCalls } from './waiting-calls.ts';
import type { Workload } from './workload.ts';

/** What is known of a call before it is admitted. */
export interface Applicant extends Queued {
  /** The user or client that is told when to come back; undefined when nothing tells it from others. */
  readonly key: string | undefined;
  /** Milliseconds until its deadline. */
  readonly leftMs: number | undefined;
  /** Calls like this one take so many milliseconds longer than `cost` now and then. */
  readonly margin: number;
}

export interface AdmissionOptions {
  readonly deployment: string;
  readonly clock: Clock;
  readonly workload: Workload;
  readonly waiting: WaitingCalls<unknown>;
}

/** What the pool has now. */
export interface Room {
  /** Calls that its replicas take at the same time; 0 without a replica. */
  readonly slots: number;
  /** Calls that may wait. */
  readonly maxQueued: number;
}

/** The cost of a call of which nothing is known. It is more than 0, so that users take turns with such calls, too. */
const LEAST_COST_MS = 1;
/** While others were told to come back, calls of other callers may use this share of the time that they could wait. */
const NEWCOMERS_SHARE = 0.25;
/** Callers are told to come back when this share of that time is used; the rest is a margin. */
const RETURNERS_SHARE = 0.5;

/** Decides whether a call may wait: the queue has a place for it, and its turn comes early enough for its deadline. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #promises = new ReturnPromises();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** The call as a queue sees it. */
  applicant({
    userId = null,
    client,
    priority = 0,
    method,
    deadlineAt,
  }: Pick<RequestContext, 'userId' | 'client' | 'priority' | 'deadlineAt'> & {
    readonly method?: string | undefined;
  }): Applicant {
    const { mean = 0, deviation = 0 } = this.#options.workload.expect(method) ?? {};
    const key = typeof userId === 'string' ? `user ${userId}` : client === undefined ? undefined : `client ${client}`;
    return {
      userId,
      key,
      priority,
      cost: Math.max(LEAST_COST_MS, mean),
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
    if (leftMs === undefined || room.slots === 0) return;
    const waitMs = this.#waitOf(applicant, room);
    const mostMs = leftMs - cost - margin;
    const share = isReturning || this.#promises.cost(now) === 0 ? 1 : NEWCOMERS_SHARE;
    if (waitMs > 0 && waitMs > share * mostMs) throw this.#overloaded(applicant, room, waitMs, now);
  }

  /**
   * Returns why a call whose turn has come may not begin any more: less time is left than such calls take. Undefined
   * when it may begin.
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
    if (deadline === undefined || workload.running === 0 || room.slots === 0) return undefined;
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

  #waitOf(call: Queued, { slots }: Room): number {
    const { workload, waiting } = this.#options;
    return workload.waitOf(call, slots, waiting.inTurn.workAhead(call));
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
      room.slots === 0 ? 1 : this.#comeBack(applicant, room, now, 0),
    );
  }

  /**
   * Returns the seconds after which a refused caller finds a place and waits for `waitMs` at most. Keeps that place.
   */
  #comeBack(applicant: Applicant, room: Room, now: number, waitMs: number): number {
    const ahead = this.#waitOf(applicant, room) + this.#promises.cost(now) / room.slots;
    const seconds = secondsOf(ahead - waitMs);
    if (applicant.key !== undefined) this.#promises.add(applicant.key, now, seconds * 1000, applicant.cost);
    return seconds;
  }
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));
