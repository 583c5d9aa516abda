import { type Clock, systemClock } from '../core/clock.ts';
import { AanaError } from '../core/errors.ts';
import { type RequestContext, remainingMs } from '../core/request-context.ts';
import { preferred } from './affinity.ts';
import { FairQueue, type Queued } from '../core/fair-queue.ts';
import { ReturnPromises } from './return-promises.ts';
import { ServiceTimes } from './service-times.ts';
import { waitingTime } from './waiting-time.ts';

/** What the pool wants to know of a replica. */
export interface PoolMember {
  readonly name: string;
  /** Calls it has not let go of. */
  readonly ongoing: number;
}

export interface PoolOptions {
  readonly deployment: string;
  /** Calls that one replica takes at the same time. */
  readonly maxOngoing: number;
  /** Calls that wait; more are refused. */
  readonly maxQueued: number;
  readonly random?: () => number;
  readonly clock?: Clock;
  /** Why a call that finds no replica is not to wait for one. */
  readonly unavailable?: () => AanaError | undefined;
}

export interface DispatchOptions extends Pick<RequestContext, 'userId' | 'client' | 'priority' | 'deadlineAt'> {
  readonly signal?: AbortSignal | undefined;
  /** Calls of the same method take about the same time. */
  readonly method?: string | undefined;
  /** Calls with the same key prefer the same replica. */
  readonly affinity?: string | undefined;
  /** Was admitted before: it waits although the queue is full or the wait is long. */
  readonly admitted?: boolean | undefined;
  /** A replica was lost with this call: it goes to one that tries no other suspect, and others avoid that one until {@link ReplicaPool.endTrial}. */
  readonly isSuspect?: boolean | undefined;
  /** Hears that it has to wait, and gets a function that ends that with a reason. */
  readonly onQueued?: ((leave: (reason: unknown) => void) => void) | undefined;
}

/** A call that a replica works on. */
export interface Run {
  readonly method: string | undefined;
  /** Milliseconds of the clock. */
  readonly startedAt: number;
}

/** A place for the first call of work that has begun elsewhere, such as the fetch of a video. */
export interface Reservation {
  /** The call has come, or will not come. May be called twice. */
  release(): void;
}

/** In an object, so that a promise is handed over as it is. */
export interface Used<T> {
  readonly value: T;
}

interface Waiting<Member> extends Queued {
  readonly affinity: string | undefined;
  readonly isSuspect: boolean;
  /** Milliseconds of the clock. */
  readonly deadline: number | undefined;
  readonly method: string | undefined;
  take(member: Member): void;
  refuse(error: unknown): void;
}

/** What is known of a call before it is admitted. */
interface Applicant extends Queued {
  /** Who is told to come back. */
  readonly key: string | undefined;
  readonly leftMs: number | undefined;
  /** How much longer than `cost` calls like this one take now and then, in milliseconds. */
  readonly margin: number;
}

/** What a call counts for of which nothing is known, so that users take turns all the same. */
const LEAST_COST_MS = 1;
/** A running call that has taken longer than expected is expected to take so much of its time again. */
const OVERDUE_SHARE = 0.1;
/** Of the time that a call could wait: those who come for the first time may use so much while others were told to come back. */
const NEWCOMERS_SHARE = 0.25;
/** Of the same time: those who come back find it used so far, and have the rest as a margin. */
const RETURNERS_SHARE = 0.5;

/**
 * The ready replicas of a deployment and the calls that wait for one. Users take turns. A call is refused at once when by the calls before it
 * cannot be answered until its deadline, and later when its turn comes too late, so that no replica works on what nobody waits for.
 */
export class ReplicaPool<Member extends PoolMember> {
  #options: PoolOptions;
  readonly #random: () => number;
  readonly #clock: Clock;
  readonly #members: Member[] = [];
  readonly #waiting = new FairQueue<Waiting<Member>>();
  /** Suspects that wait for a replica that tries no other one; they were admitted before. */
  readonly #suspects = new Set<Waiting<Member>>();
  /** Replicas that try a suspect. */
  readonly #trying = new Set<Member>();
  /** Work that has a place and waits for something else. */
  readonly #reserved = new FairQueue<Queued>();
  readonly #running = new Set<Run>();
  readonly #times = new ServiceTimes();
  readonly #promises = new ReturnPromises();
  #closedBy: (() => AanaError) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#clock = options.clock ?? systemClock;
  }

  get size(): number {
    return this.#members.length;
  }

  get queued(): number {
    return this.#waiting.size + this.#suspects.size;
  }

  add(member: Member): void {
    this.#members.push(member);
    this.release();
  }

  remove(member: Member): void {
    const index = this.#members.indexOf(member);
    if (index >= 0) this.#members.splice(index, 1);
    this.#trying.delete(member);
  }

  /**
   * Runs `use` with a replica that has room, as soon as there is one and it is the call's turn. `use` must add to the replica's `ongoing`
   * before it returns, and {@link settle} be called when that sinks. Rejects with `DeploymentFull` when too many wait, `DeploymentOverloaded` when the call
   * cannot be answered until its deadline, or the signal's reason.
   */
  async dispatch<T>(use: (member: Member, run: Run) => T, options: DispatchOptions = {}): Promise<Used<T>> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    const free = this.#waiting.size === 0 ? this.#pick(options) : undefined;
    if (free) return { value: this.#start(use, free, options) };
    const unavailable = this.#options.unavailable?.();
    if (unavailable) throw unavailable;
    const applicant = this.#applicant(options);
    if (!options.admitted) this.#admit(applicant);
    return this.#wait(use, options, applicant);
  }

  /**
   * Keeps a place for a call that will come after other work was done for it. Throws what {@link dispatch} rejects with when the call, if it came now,
   * would be refused.
   */
  reserve(options: Omit<DispatchOptions, 'signal' | 'affinity' | 'admitted'> = {}): Reservation {
    if (this.#closedBy) throw this.#closedBy();
    const applicant = this.#applicant(options);
    if (this.#isBusy) this.#admit(applicant);
    const { userId, priority, cost } = applicant;
    const place: Queued = { userId, priority, cost };
    this.#reserved.add(place);
    return { release: () => void this.#reserved.remove(place) };
  }

  /** A replica has let go of a call. */
  settle(run: Run): void {
    this.#running.delete(run);
    this.release();
  }

  /** A call gave its answer; `isWhole` is false for one whose caller did not wait for it. */
  observe({ method = '', startedAt }: Run, isWhole: boolean): void {
    const ms = this.#clock.now() - startedAt;
    if (isWhole) this.#times.observe(method, ms);
    else this.#times.observeAtLeast(method, ms);
  }

  /** Room was made: gives it to those who wait. */
  release(): void {
    for (const suspect of this.#suspects) {
      const free = this.#pick(suspect);
      if (free) suspect.take(free);
    }
    for (let waiting = this.#waiting.peek(); waiting; waiting = this.#waiting.peek()) {
      const late = this.#isLate(waiting);
      const free = late ? undefined : this.#pick(waiting);
      if (late) {
        this.#waiting.remove(waiting);
        waiting.refuse(late);
      } else if (free) {
        this.#waiting.take();
        waiting.take(free);
      } else return;
    }
  }

  /** The suspect that this replica tried has ended. Call {@link settle} after it. */
  endTrial(member: Member): void {
    this.#trying.delete(member);
  }

  /** Refuses calls from now on; those who wait already stay, unless `error` is for them too. */
  close(error: () => AanaError, options: { readonly waiting: boolean }): void {
    this.#closedBy = error;
    if (options.waiting) this.refuseWaiting(error);
  }

  /** Takes calls again. */
  open(): void {
    this.#closedBy = undefined;
  }

  /** Other bounds, from now on; calls that run or wait already stay. */
  setBounds({ maxOngoing, maxQueued }: Pick<PoolOptions, 'maxOngoing' | 'maxQueued'>): void {
    this.#options = { ...this.#options, maxOngoing, maxQueued };
    this.release();
  }

  /** Refuses those who wait. */
  refuseWaiting(error: () => AanaError): void {
    for (const waiting of [...this.#suspects, ...this.#waiting]) waiting.refuse(error());
  }

  get #isBusy(): boolean {
    return this.#members.length > 0 && this.#running.size + this.#waiting.size + this.#reserved.size >= this.#slots;
  }

  get #slots(): number {
    return this.#members.length * this.#options.maxOngoing;
  }

  #applicant({ userId = null, client, priority = 0, method, deadlineAt }: DispatchOptions): Applicant {
    const { mean = 0, deviation = 0 } = this.#times.expect(method) ?? {};
    const key = typeof userId === 'string' ? `user ${userId}` : client === undefined ? undefined : `client ${client}`;
    return { userId, key, priority, cost: Math.max(LEAST_COST_MS, mean), margin: deviation, leftMs: remainingMs({ deadlineAt }) };
  }

  /** Throws when the call is not to wait. */
  #admit(applicant: Applicant): void {
    const now = this.#clock.now();
    const { key, cost, margin, leftMs } = applicant;
    const isReturning = key !== undefined && this.#promises.claim(key, now);
    if (this.#waiting.size >= this.#options.maxQueued) {
      const victim = this.#waiting.victimFor(applicant.userId);
      if (!victim) throw this.#full(applicant, now);
      victim.refuse(this.#full({ ...applicant, userId: victim.userId, key: undefined }, now));
    }
    if (leftMs === undefined || this.#members.length === 0) return;
    const waitMs = this.#waitOf(applicant);
    const mostMs = leftMs - cost - margin;
    const share = isReturning || this.#promises.cost(now) === 0 ? 1 : NEWCOMERS_SHARE;
    if (waitMs > 0 && waitMs > share * mostMs) throw this.#overloaded(applicant, waitMs, now);
  }

  /** Milliseconds until it would be the turn of a call that comes now. */
  #waitOf(applicant: Queued): number {
    const now = this.#clock.now();
    const remaining = Array.from(this.#running, ({ method, startedAt }) => {
      const mean = this.#times.expect(method)?.mean ?? 0;
      return Math.max(OVERDUE_SHARE * mean, mean - (now - startedAt));
    });
    return waitingTime(this.#slots, remaining, this.#waiting.workAhead(applicant) + this.#reserved.workAhead(applicant));
  }

  /** Why a call whose turn it is must not begin any more; undefined when it may. */
  #isLate({ deadline, method, cost }: Waiting<Member>): AanaError | undefined {
    if (deadline === undefined || this.#running.size === 0 || this.#members.length === 0) return undefined;
    const now = this.#clock.now();
    const { mean, deviation } = this.#times.expect(method) ?? { mean: cost, deviation: 0 };
    const leftMs = deadline - now;
    if (leftMs >= mean - deviation) return undefined;
    return overloaded(this.#options.deployment, 0, mean, leftMs, secondsOf(this.#waitOf({ userId: null, priority: 0, cost: mean })));
  }

  #overloaded(applicant: Applicant, waitMs: number, now: number): AanaError {
    const { cost, leftMs = 0 } = applicant;
    return overloaded(this.#options.deployment, waitMs, cost, leftMs, this.#comeBack(applicant, now, RETURNERS_SHARE * Math.max(0, leftMs - cost)));
  }

  #full(applicant: Applicant, now: number): AanaError {
    const { deployment, maxQueued } = this.#options;
    const wait = this.#members.length === 0 ? 1 : this.#comeBack(applicant, now, 0);
    return new AanaError('DeploymentFull', 'unavailable', `deployment ${deployment} is full: ${maxQueued} calls are waiting already; try again in ${wait} s`, {
      data: { deployment, max_queued_requests: maxQueued, retry_after_s: wait },
    });
  }

  /** Seconds after which one who is refused finds a place, with at most `waitMs` to wait then; keeps the place. */
  #comeBack(applicant: Applicant, now: number, waitMs: number): number {
    const ahead = this.#waitOf(applicant) + this.#promises.cost(now) / this.#slots;
    const seconds = secondsOf(ahead - waitMs);
    if (applicant.key !== undefined) this.#promises.add(applicant.key, now, seconds * 1000, applicant.cost);
    return seconds;
  }

  /** The replica that calls with this key prefer, else the less busy one of two random replicas with room. Those that try no suspect come first. */
  #pick({ affinity, isSuspect }: Pick<DispatchOptions, 'affinity' | 'isSuspect'>): Member | undefined {
    if (this.#trying.size === 0) return this.#pickOf(this.#members, affinity);
    const others = this.#members.filter((member) => !this.#trying.has(member));
    return this.#pickOf(others, affinity) ?? (isSuspect ? undefined : this.#pickOf(this.#members, affinity));
  }

  #pickOf(members: readonly Member[], affinity: string | undefined): Member | undefined {
    const { maxOngoing } = this.#options;
    const liked = affinity === undefined || members.length < 2 ? undefined : preferred(affinity, members, maxOngoing);
    if (liked) return liked;
    const free = members.filter((member) => member.ongoing < maxOngoing);
    const any = (): Member | undefined => free[Math.floor(this.#random() * free.length)];
    const [one, other] = [any(), any()];
    return one && other && other.ongoing < one.ongoing ? other : one;
  }

  #start<T>(use: (member: Member, run: Run) => T, member: Member, { method, isSuspect }: Pick<DispatchOptions, 'method' | 'isSuspect'>): T {
    if (isSuspect) this.#trying.add(member);
    const run: Run = { method, startedAt: this.#clock.now() };
    this.#running.add(run);
    try {
      return use(member, run);
    } catch (error) {
      this.#running.delete(run);
      throw error;
    }
  }

  #wait<T>(use: (member: Member, run: Run) => T, { signal, affinity, method, isSuspect = false, onQueued }: DispatchOptions, { userId, priority, cost, leftMs }: Applicant): Promise<Used<T>> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        if (!this.#suspects.delete(waiting)) this.#waiting.remove(waiting);
        signal?.removeEventListener('abort', onAbort);
        how();
      };
      const waiting: Waiting<Member> = {
        ...{ userId, priority, cost, affinity, method, isSuspect },
        deadline: leftMs === undefined ? undefined : this.#clock.now() + leftMs,
        take: (member) =>
          settle(() => {
            try {
              resolve({ value: this.#start(use, member, waiting) });
            } catch (error) {
              reject(error);
            }
          }),
        refuse: (error) => settle(() => reject(error)),
      };
      const onAbort = (): void => waiting.refuse(signal?.reason);
      if (isSuspect) this.#suspects.add(waiting);
      else this.#waiting.add(waiting);
      onQueued?.(waiting.refuse);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));
const text = (ms: number): string => (ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function overloaded(deployment: string, waitMs: number, serviceMs: number, leftMs: number, retryAfterS: number): AanaError {
  const why = `the calls before this one take about ${text(waitMs)}, this one about ${text(serviceMs)}, and ${text(Math.max(0, leftMs))} are left`;
  return new AanaError('DeploymentOverloaded', 'unavailable', `deployment ${deployment} cannot answer in time: ${why}; try again in ${retryAfterS} s`, {
    data: { deployment, estimated_wait_s: Math.round(waitMs) / 1000, retry_after_s: retryAfterS },
  });
}
