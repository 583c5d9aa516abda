import { AanaError } from '../core/errors.ts';
import { preferred } from './affinity.ts';

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
  /** Why a call that finds no replica is not to wait for one. */
  readonly unavailable?: () => AanaError | undefined;
}

export interface DispatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Calls with the same key prefer the same replica. */
  readonly affinity?: string | undefined;
  /** Was admitted before and is tried again: it waits although the queue is full. */
  readonly admitted?: boolean | undefined;
  /** A replica was lost with this call: it goes to one that tries no other suspect, and others avoid that one until {@link ReplicaPool.endTrial}. */
  readonly isSuspect?: boolean | undefined;
  /** Hears that it has to wait, and gets a function that ends that with a reason. */
  readonly onQueued?: ((leave: (reason: unknown) => void) => void) | undefined;
}

/** In an object, so that a promise is handed over as it is. */
export interface Used<T> {
  readonly value: T;
}

interface Waiting<Member> {
  readonly affinity: string | undefined;
  readonly isSuspect: boolean;
  take(member: Member): void;
  refuse(error: unknown): void;
}

/** The ready replicas of a deployment and the calls that wait for one. */
export class ReplicaPool<Member extends PoolMember> {
  #options: PoolOptions;
  readonly #random: () => number;
  readonly #members: Member[] = [];
  readonly #waiting = new Set<Waiting<Member>>();
  /** Those that try a suspect. */
  readonly #trying = new Set<Member>();
  #closedBy: (() => AanaError) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  get size(): number {
    return this.#members.length;
  }

  get queued(): number {
    return this.#waiting.size;
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
   * Runs `use` with a replica that has room, as soon as there is one, in the order of asking. `use` must add to the replica's
   * `ongoing` before it returns, and {@link release} be called when that sinks. Rejects `DeploymentFull` when too many wait,
   * or with the signal's reason.
   */
  async dispatch<T>(use: (member: Member) => T, options: DispatchOptions = {}): Promise<Used<T>> {
    options.signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy();
    const free = this.#waiting.size === 0 ? this.#pick(options) : undefined;
    if (free) return { value: use(this.#given(free, options)) };
    const unavailable = this.#options.unavailable?.();
    if (unavailable) throw unavailable;
    if (this.#waiting.size >= this.#options.maxQueued && !options.admitted) throw this.#full();
    return this.#wait(use, options);
  }

  /** Room was made: gives it to those who wait. */
  release(): void {
    for (const waiting of this.#waiting) {
      const free = this.#pick(waiting);
      if (free) waiting.take(this.#given(free, waiting));
      else if (!waiting.isSuspect) return;
    }
  }

  /** The suspect that this replica tried has ended. Call {@link release} after it. */
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
    for (const waiting of this.#waiting) waiting.refuse(error());
  }

  #given(member: Member, { isSuspect }: DispatchOptions): Member {
    if (isSuspect) this.#trying.add(member);
    return member;
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

  #wait<T>(use: (member: Member) => T, { signal, affinity, isSuspect = false, onQueued }: DispatchOptions): Promise<Used<T>> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener('abort', onAbort);
        how();
      };
      const waiting: Waiting<Member> = {
        affinity,
        isSuspect,
        take: (member) =>
          settle(() => {
            try {
              resolve({ value: use(member) });
            } catch (error) {
              reject(error);
            }
          }),
        refuse: (error) => settle(() => reject(error)),
      };
      const onAbort = (): void => waiting.refuse(signal?.reason);
      this.#waiting.add(waiting);
      onQueued?.(waiting.refuse);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.release(); // those before it may be suspects, for which there is no room
    });
  }

  #full(): AanaError {
    const { deployment, maxQueued } = this.#options;
    return new AanaError('DeploymentFull', 'unavailable', `deployment ${deployment} is full: ${maxQueued} calls are waiting already; try again later`, {
      data: { deployment, max_queued_requests: maxQueued },
    });
  }
}
