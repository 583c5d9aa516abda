import { raceAbort } from '../../../base/core/abort.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { FairQueue, type Queued } from '../../../base/core/fair-queue.ts';
import type { TriedSuspect } from '../calls/trials.ts';
import type { Preference } from './replica-choice.ts';

/** A waiting call. */
export interface WaitingCall extends Queued {
  /** Ends its wait with an error. */
  refuse(error: unknown): void;
}

/** Requirements of a call for a replica. */
export interface Wanted extends Queued, Preference {
  /** Set when a replica was lost with the call. The call then goes to a replica that tries no other suspect. */
  readonly suspect: TriedSuspect | undefined;
  /** Milliseconds of the clock, as `since`. */
  readonly deadline: number | undefined;
  /** When it began to wait. */
  readonly since: number;
  readonly method: string | undefined;
}

/** A call that waits for a replica. */
export interface WaitingForReplica<Member> extends Wanted, WaitingCall {
  /** `beyond` is whether it takes a place beyond the number of calls of the replica. */
  take(member: Member, beyond?: boolean): void;
}

export interface WaitOptions {
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the call waits, with a function that ends the wait with an error. */
  readonly onQueued?: ((leave: (reason: unknown) => void) => void) | undefined;
  /** Whether a replica did not begin the call, which goes before the other calls of its user. Default: no. */
  readonly isReturned?: boolean | undefined;
}

/** The waiting calls of a deployment. All of them count for the limit. */
export class WaitingCalls<Member> {
  /** Calls that the next free replica takes. Users take turns. */
  readonly inTurn = new FairQueue<WaitingForReplica<Member>>();
  /** Suspects that wait for a replica that tries no other suspect. */
  readonly suspects = new Set<WaitingForReplica<Member>>();
  /** Calls that wait for the trial of another call with the same arguments. No replica takes them before that. */
  readonly held = new Set<WaitingCall>();
  readonly #onChange: (() => void) | undefined;

  /** `onChange` is called when a call begins or ends its wait. */
  constructor(onChange?: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.forReplica + this.held.size;
  }

  /** The number of calls that wait for a replica. */
  get forReplica(): number {
    return this.inTurn.size + this.suspects.size;
  }

  /** Lets a call wait until a replica takes it. Resolves with the result of `start` for that replica. */
  wait<T>(
    wanted: Wanted,
    start: (member: Member, beyond: boolean) => T,
    { signal, onQueued, isReturned = false }: WaitOptions,
  ): Promise<T> {
    const started = deferred<T>();
    const leave = (): void => {
      if (!this.suspects.delete(call)) this.inTurn.remove(call);
      signal?.removeEventListener('abort', onAbort);
      this.#onChange?.();
    };
    const call: WaitingForReplica<Member> = {
      ...wanted,
      take: (member, beyond = false) => {
        leave();
        try {
          started.resolve(start(member, beyond));
        } catch (error) {
          started.reject(error);
        }
      },
      refuse: (error) => {
        leave();
        started.reject(error);
      },
    };
    const onAbort = (): void => call.refuse(signal?.reason);
    if (wanted.suspect) this.suspects.add(call);
    else if (isReturned) this.inTurn.giveBack(call);
    else this.inTurn.add(call);
    this.#onChange?.();
    onQueued?.(call.refuse);
    signal?.addEventListener('abort', onAbort, { once: true });
    return started.promise;
  }

  /** Lets a call wait until the trial of another call has settled. */
  async hold(
    { userId, priority, cost, weight }: Queued,
    trial: Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const refused = deferred<never>();
    const call: WaitingCall = {
      ...{ userId, priority, cost, weight },
      refuse: (error) => {
        this.held.delete(call);
        refused.reject(error);
      },
    };
    this.held.add(call);
    try {
      await raceAbort(Promise.race([trial, refused.promise]), signal);
    } finally {
      this.held.delete(call);
    }
  }

  /**
   * Returns the call that makes room for a call of `userId`: the last one of the user with the most calls, if that user
   * has at least two calls more.
   */
  victimFor(userId: string | null): WaitingCall | undefined {
    if (this.inTurn.size === this.size) return this.inTurn.victimFor(userId);
    const byUser = new Map<string | null, WaitingCall[]>();
    for (const call of this) byUser.set(call.userId, [...(byUser.get(call.userId) ?? []), call]);
    const own = byUser.get(userId)?.length ?? 0;
    const [most = []] = [...byUser.values()].sort((one, other) => other.length - one.length);
    return most.length > own + 1 ? most.at(-1) : undefined;
  }

  /** Yields all waiting calls, the held ones last. */
  *[Symbol.iterator](): Generator<WaitingCall, void, undefined> {
    yield* [...this.suspects];
    yield* this.inTurn;
    yield* [...this.held];
  }
}
