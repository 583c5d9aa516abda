import { type Clock, systemClock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import { type RequestContext, tenantOf } from '../../../base/core/request-context.ts';
import { Admission, type Applicant, type Room } from './admission.ts';
import { type Choosable, chooseReplica, type Preference } from './replica-choice.ts';
import { type TriedSuspect, Trials } from '../calls/trials.ts';
import { WaitingCalls, type WaitingForReplica, type WaitOptions } from './waiting-calls.ts';
import { type Reservation, type Run, Workload } from './workload.ts';

/** How many calls a deployment takes. */
export interface CallBounds {
  /** Calls that one replica takes at the same time, of all hosts together. */
  readonly maxOngoing: number;
  /** Most calls that wait; more are refused. */
  readonly maxQueued: number;
  /**
   * Whether a replica pauses calls of one user when another user waits. Then a user with less than an equal share of
   * the places gets a place beyond `maxOngoing`. Default: no.
   */
  readonly pausesForOthers?: boolean | undefined;
}

export interface PoolOptions extends CallBounds {
  readonly deployment: string;
  readonly random?: () => number;
  readonly clock?: Clock;
  /** Returns why a call that finds no replica may not wait for one; undefined when it may. */
  readonly unavailable?: (() => AanaError | undefined) | undefined;
  /** Called when a call begins or ends its wait. */
  readonly onQueue?: (() => void) | undefined;
  /** Called with the error with which all waiting calls are refused. */
  readonly onRefused?: ((error: AanaError) => void) | undefined;
}

export interface DispatchOptions
  extends Pick<RequestContext, 'userId' | 'client' | 'priority' | 'weight' | 'deadlineAt'>, WaitOptions, Preference {
  /** Calls of the same method take about the same time. */
  readonly method?: string | undefined;
  /** Whether the call was admitted before. It then waits even if the queue is full or the wait is long. */
  readonly admitted?: boolean | undefined;
  /**
   * Set when a replica was lost with this call. The call goes to a replica that tries no other suspect, and {@link
   * ReplicaPool.trials} records it.
   */
  readonly suspect?: TriedSuspect | undefined;
}

/** Wraps the value, so that a promise is passed on without waiting for it. */
export interface Used<T> {
  readonly value: T;
}

/** For how long calls with other models may go first. Ray Serve waits as long for a replica with the model. */
const MODEL_WAIT_MS = 1000;

/**
 * Gives the calls of a deployment to its ready replicas. Users take turns. The pool refuses a call at once when the
 * calls before it leave too little time until its deadline, and later when its turn comes too late, so that no replica
 * works for a caller that has given up.
 */
export class ReplicaPool<Member extends Choosable> {
  readonly trials: Trials<Member>;
  #options: PoolOptions;
  readonly #random: () => number;
  readonly #clock: Clock;
  readonly #members: Member[] = [];
  readonly #waiting: WaitingCalls<Member>;
  readonly #workload: Workload;
  readonly #admission: Admission;
  #closedBy: (() => AanaError) | undefined;

  constructor(options: PoolOptions) {
    const { deployment, random = Math.random, clock = systemClock } = options;
    this.#options = options;
    this.#random = random;
    this.#clock = clock;
    this.#waiting = new WaitingCalls(options.onQueue);
    this.#workload = new Workload(clock);
    this.#admission = new Admission({ deployment, clock, workload: this.#workload, waiting: this.#waiting });
    this.trials = new Trials(clock, () => this.release());
  }

  get size(): number {
    return this.#members.length;
  }

  /** Number of waiting calls. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Number of calls that wait for a replica, so that one more replica could take them. */
  get waitingForReplica(): number {
    return this.#waiting.forReplica;
  }

  add(member: Member): void {
    this.#members.push(member);
    this.release();
  }

  remove(member: Member): void {
    const index = this.#members.indexOf(member);
    if (index >= 0) this.#members.splice(index, 1);
  }

  /** The error with which all new calls are refused; undefined while they are taken. */
  get closedBy(): AanaError | undefined {
    return this.#closedBy?.();
  }

  /**
   * Runs `use` with a replica that has room, when it is the call's turn. `use` must increase the replica's `ongoing`
   * before it returns. Call {@link settle} when `ongoing` decreases. Rejects with `DeploymentFull` when too many calls
   * wait, `DeploymentOverloaded` when the call cannot be answered before its deadline, or the signal's reason.
   */
  async dispatch<T>(
    use: (member: Member, run: Run, beyond: boolean) => T,
    options: DispatchOptions = {},
  ): Promise<Used<T>> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    const wanted = { ...options, userId: tenantOf(options) || null };
    const free = this.#waiting.inTurn.size === 0 ? this.#choose(options) : undefined;
    if (free) return { value: this.#start(use, free, wanted, false) };
    const beyond = this.#chooseBeyond(wanted);
    if (beyond) return { value: this.#start(use, beyond, wanted, true) };
    const unavailable = this.#options.unavailable?.();
    if (unavailable) throw unavailable;
    const { leftMs, ...applicant } = this.#admit(options);
    const { affinity, multiplexedModelId, suspect, method } = options;
    const deadline = leftMs === undefined ? undefined : this.#clock.now() + leftMs;
    const waited = this.#waiting.wait(
      { ...applicant, affinity, multiplexedModelId, suspect, deadline, method, since: this.#clock.now() },
      (member, isBeyond) => ({ value: this.#start(use, member, wanted, isBeyond) }),
      options,
    );
    if (options.isReturned) this.release(); // another replica may have a place
    return waited;
  }

  /**
   * Lets a call wait until `trial` of another call has settled. It counts as waiting. Rejects like {@link dispatch}.
   */
  async hold(trial: Promise<void>, options: DispatchOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    await this.#waiting.hold(this.#admit(options), trial, options.signal);
  }

  /**
   * Reserves a place for a call that follows other work of its request. Throws the error with which {@link dispatch}
   * would reject now.
   */
  reserve(options: Omit<DispatchOptions, 'signal' | 'affinity' | 'admitted'> = {}): Reservation {
    if (this.#closedBy) throw this.#closedBy();
    const applicant = this.#admission.applicant(options);
    if (this.#isBusy && !this.#hasShareLeft(applicant.userId)) this.#admission.admit(applicant, this.#room);
    return this.#workload.reserve(applicant);
  }

  /** Called when a replica has ended a call. */
  settle(run: Run): void {
    this.#workload.end(run);
    this.release();
  }

  /** Records the duration of a call. `isWhole` is false when its caller did not wait for the end. */
  observe(run: Run, isWhole: boolean): void {
    this.#workload.observe(run, isWhole);
  }

  /** Gives waiting calls to the replicas that have room. */
  release(): void {
    for (const suspect of this.#waiting.suspects) {
      const free = this.#choose(suspect);
      if (free) suspect.take(free);
    }
    const { inTurn } = this.#waiting;
    for (let waiting = inTurn.peek(); waiting; waiting = inTurn.peek()) {
      const late = this.#admission.lateness(waiting, this.#room);
      const free = late ? undefined : this.#choose(waiting);
      if (late) {
        inTurn.remove(waiting);
        waiting.refuse(late);
      } else if (free) {
        // Calls of all users count at today's cost. Otherwise a user whose calls arrived when calls were short would
        // get more.
        const first = this.#firstFor(free, waiting);
        inTurn.take(this.#admission.costOf(first.method), first);
        first.take(free);
      } else break;
    }
    if (!this.#options.pausesForOthers) return;
    for (const waiting of inTurn) {
      const beyond = this.#chooseBeyond(waiting);
      if (beyond) waiting.take(beyond, true);
    }
  }

  /** Refuses calls from now on, with `waiting` also the waiting ones. */
  close(error: () => AanaError, options: { readonly waiting: boolean }): void {
    this.#closedBy = error;
    if (options.waiting) this.refuseWaiting(error);
  }

  /** Takes calls again. */
  open(): void {
    this.#closedBy = undefined;
  }

  /** Sets other bounds. Running and waiting calls are not affected. */
  setBounds({ maxOngoing, maxQueued, pausesForOthers }: CallBounds): void {
    this.#options = { ...this.#options, maxOngoing, maxQueued, pausesForOthers };
    this.release();
  }

  /** Refuses all waiting calls. */
  refuseWaiting(error: () => AanaError): void {
    this.#options.onRefused?.(error());
    for (const waiting of [...this.#waiting]) waiting.refuse(error());
  }

  get #isBusy(): boolean {
    return (
      this.#members.length > 0 &&
      this.#workload.running + this.#waiting.inTurn.size + this.#workload.reserved >= this.#room.capacity
    );
  }

  get #room(): Room {
    const { maxOngoing, maxQueued } = this.#options;
    const capacity = this.#members.reduce((sum, { others = 0 }) => sum + Math.max(0, maxOngoing - others), 0);
    return { capacity, maxQueued };
  }

  #admit(options: DispatchOptions): Applicant {
    const applicant = this.#admission.applicant(options);
    if (!options.admitted) this.#admission.admit(applicant, this.#room);
    return applicant;
  }

  /** Chooses a replica, preferably one that tries no suspect. A suspect gets only such a replica. */
  #choose(
    call: Preference & Pick<DispatchOptions, 'suspect'>,
    maxOngoing = this.#options.maxOngoing,
  ): Member | undefined {
    const untried = this.#members.filter((member) => !this.trials.isTrying(member));
    const chosen = chooseReplica(untried, call, maxOngoing, this.#random);
    if (chosen || call.suspect || untried.length === this.#members.length) return chosen;
    return chooseReplica(this.#members, call, maxOngoing, this.#random);
  }

  /**
   * Returns the call that takes a free place: a call whose model the replica has goes before one whose model another
   * replica has. Otherwise replicas that are never idle would unload and load models all the time. The next call lets
   * others go first only for a short time.
   */
  #firstFor(member: Member, next: WaitingForReplica<Member>): WaitingForReplica<Member> {
    const { multiplexedModelId: wanted, since, deadline = Infinity } = next;
    const has = ({ models }: Member, id: string | undefined): boolean => id !== undefined && models?.has(id) === true;
    const now = this.#clock.now();
    const mayWait = now - since < MODEL_WAIT_MS && deadline - now > 2 * MODEL_WAIT_MS;
    if (!mayWait || has(member, wanted) || !this.#members.some((other) => has(other, wanted))) return next;
    for (const other of this.#waiting.inTurn)
      if (has(member, other.multiplexedModelId) && !this.#admission.lateness(other, this.#room)) return other;
    return next;
  }

  /** Chooses a full replica for a user with less than an equal share of the places. The replica pauses another call. */
  #chooseBeyond(
    call: Preference & Pick<DispatchOptions, 'suspect'> & { readonly userId: string | null },
  ): Member | undefined {
    return this.#hasShareLeft(call.userId) ? this.#choose(call, Infinity) : undefined;
  }

  #hasShareLeft(userId: string | null): boolean {
    return this.#options.pausesForOthers === true && this.#workload.hasShareLeft(userId, this.#room.capacity);
  }

  #start<T>(
    use: (member: Member, run: Run, beyond: boolean) => T,
    member: Member,
    { method, suspect, userId }: Pick<DispatchOptions, 'method' | 'suspect'> & { readonly userId: string | null },
    beyond: boolean,
  ): T {
    if (suspect) this.trials.begin(member, suspect);
    const run = this.#workload.begin(method, userId);
    try {
      return use(member, run, beyond);
    } catch (error) {
      this.#workload.end(run);
      if (suspect) this.trials.end(member, suspect);
      throw error;
    }
  }
}
