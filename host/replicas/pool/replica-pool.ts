import { type Clock, systemClock } from '../../core/clock.ts';
import type { AanaError } from '../../core/errors.ts';
import type { RequestContext } from '../../core/request-context.ts';
import { Admission, type Applicant, type Room } from './admission.ts';
import { type Choosable, chooseReplica } from './replica-choice.ts';
import { type TriedSuspect, Trials } from '../calls/trials.ts';
import { WaitingCalls, type WaitOptions } from './waiting-calls.ts';
import { type Reservation, type Run, Workload } from './workload.ts';

export interface PoolOptions {
  readonly deployment: string;
  /** Calls that one replica takes at the same time. */
  readonly maxOngoing: number;
  /** Calls that wait; more are refused. */
  readonly maxQueued: number;
  readonly random?: () => number;
  readonly clock?: Clock;
  /** Returns why a call that finds no replica may not wait for one; undefined when it may. */
  readonly unavailable?: () => AanaError | undefined;
}

export interface DispatchOptions
  extends Pick<RequestContext, 'userId' | 'client' | 'priority' | 'deadlineAt'>, WaitOptions {
  /** Calls of the same method take about the same time. */
  readonly method?: string | undefined;
  /** Calls with the same key prefer the same replica. */
  readonly affinity?: string | undefined;
  /** Was admitted before: it waits although the queue is full or the wait is long. */
  readonly admitted?: boolean | undefined;
  /**
   * A replica was lost with this call: it goes to a replica that tries no other suspect, and {@link ReplicaPool.trials}
   * has it from then on.
   */
  readonly suspect?: TriedSuspect | undefined;
}

/** In an object, so that a promise is handed over as it is. */
export interface Used<T> {
  readonly value: T;
}

/**
 * Gives the calls of a deployment to its ready replicas. Users take turns. The pool refuses a call at once when the
 * calls before it leave too little time until its deadline, and later when its turn comes too late, so that no replica
 * works for a caller that does not wait any more.
 */
export class ReplicaPool<Member extends Choosable> {
  readonly trials: Trials<Member>;
  #options: PoolOptions;
  readonly #random: () => number;
  readonly #clock: Clock;
  readonly #members: Member[] = [];
  readonly #waiting = new WaitingCalls<Member>();
  readonly #workload: Workload;
  readonly #admission: Admission;
  #closedBy: (() => AanaError) | undefined;

  constructor(options: PoolOptions) {
    const { deployment, random = Math.random, clock = systemClock } = options;
    this.#options = options;
    this.#random = random;
    this.#clock = clock;
    this.#workload = new Workload(clock);
    this.#admission = new Admission({ deployment, clock, workload: this.#workload, waiting: this.#waiting });
    this.trials = new Trials(clock, () => this.release());
  }

  get size(): number {
    return this.#members.length;
  }

  /** Calls that wait. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Calls that wait for a replica: one more replica could take them. */
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

  /**
   * Runs `use` with a replica that has room, as soon as there is one and it is the call's turn. `use` must add to the
   * replica's `ongoing` before it returns. Call {@link settle} when `ongoing` sinks. Rejects with `DeploymentFull` when
   * too many wait, `DeploymentOverloaded` when the call cannot be answered until its deadline, or the signal's reason.
   */
  async dispatch<T>(use: (member: Member, run: Run) => T, options: DispatchOptions = {}): Promise<Used<T>> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    const free = this.#waiting.inTurn.size === 0 ? this.#choose(options) : undefined;
    if (free) return { value: this.#start(use, free, options) };
    const unavailable = this.#options.unavailable?.();
    if (unavailable) throw unavailable;
    const { leftMs, ...applicant } = this.#admit(options);
    const { affinity, suspect, method } = options;
    const deadline = leftMs === undefined ? undefined : this.#clock.now() + leftMs;
    return this.#waiting.wait(
      { ...applicant, affinity, suspect, deadline, method },
      (member) => ({ value: this.#start(use, member, options) }),
      options,
    );
  }

  /**
   * Lets a call wait until `trial` of another call has settled. Meanwhile it counts as waiting. Rejects as {@link
   * dispatch} does.
   */
  async hold(trial: Promise<void>, options: DispatchOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    await this.#waiting.hold(this.#admit(options), trial, options.signal);
  }

  /**
   * Keeps a place for a call that comes after other work of its request. Throws what {@link dispatch} would reject with
   * if the call came now.
   */
  reserve(options: Omit<DispatchOptions, 'signal' | 'affinity' | 'admitted'> = {}): Reservation {
    if (this.#closedBy) throw this.#closedBy();
    const applicant = this.#admission.applicant(options);
    if (this.#isBusy) this.#admission.admit(applicant, this.#room);
    return this.#workload.reserve(applicant);
  }

  /** A replica has let go of a call. */
  settle(run: Run): void {
    this.#workload.end(run);
    this.release();
  }

  /** A call gave its answer; `isWhole` is false for one whose caller did not wait for it. */
  observe(run: Run, isWhole: boolean): void {
    this.#workload.observe(run, isWhole);
  }

  /** Gives the replicas that have room to the calls that wait. */
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
        inTurn.take();
        waiting.take(free);
      } else return;
    }
  }

  /** Refuses calls from now on. With `waiting`, refuses the calls that wait, too. */
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

  /** Refuses the calls that wait. */
  refuseWaiting(error: () => AanaError): void {
    for (const waiting of [...this.#waiting]) waiting.refuse(error());
  }

  get #isBusy(): boolean {
    return (
      this.#members.length > 0 &&
      this.#workload.running + this.#waiting.inTurn.size + this.#workload.reserved >= this.#room.slots
    );
  }

  get #room(): Room {
    return { slots: this.#members.length * this.#options.maxOngoing, maxQueued: this.#options.maxQueued };
  }

  #admit(options: DispatchOptions): Applicant {
    const applicant = this.#admission.applicant(options);
    if (!options.admitted) this.#admission.admit(applicant, this.#room);
    return applicant;
  }

  /** Replicas that try no suspect come first. Suspects get no other ones. */
  #choose({ affinity, suspect }: Pick<DispatchOptions, 'affinity' | 'suspect'>): Member | undefined {
    const { maxOngoing } = this.#options;
    const untried = this.#members.filter((member) => !this.trials.isTrying(member));
    const chosen = chooseReplica(untried, affinity, maxOngoing, this.#random);
    if (chosen || suspect || untried.length === this.#members.length) return chosen;
    return chooseReplica(this.#members, affinity, maxOngoing, this.#random);
  }

  #start<T>(
    use: (member: Member, run: Run) => T,
    member: Member,
    { method, suspect }: Pick<DispatchOptions, 'method' | 'suspect'>,
  ): T {
    if (suspect) this.trials.begin(member, suspect);
    const run = this.#workload.begin(method);
    try {
      return use(member, run);
    } catch (error) {
      this.#workload.end(run);
      if (suspect) this.trials.end(member, suspect);
      throw error;
    }
  }
}
