import type { Clock } from '../../../base/core/clock.ts';
import { FairQueue, type Queued } from '../../../base/core/fair-queue.ts';
import { type ServiceTime, ServiceTimes } from './service-times.ts';
import { waitingTime } from './waiting-time.ts';

/** A call on which a replica works. */
export interface Run {
  readonly method: string | undefined;
  /** Whose call it is. */
  readonly userId: string | null;
  /** Milliseconds of the clock. */
  readonly startedAt: number;
}

/** A reserved place for a call that follows other work of its request, such as the fetch of a video. */
export interface Reservation {
  /** Called when the call has arrived, or will not arrive. May be called twice. */
  release(): void;
}

/** Share of the expected time that an overdue call is expected to take still. */
const OVERDUE_SHARE = 0.1;

/** The work of a deployment's replicas: running calls and reserved places. Estimates how long a new call must wait. */
export class Workload {
  readonly #clock: Clock;
  readonly #running = new Set<Run>();
  readonly #reserved = new FairQueue<Queued>();
  readonly #times = new ServiceTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of running calls. */
  get running(): number {
    return this.#running.size;
  }

  /** Number of reserved places. */
  get reserved(): number {
    return this.#reserved.size;
  }

  /**
   * Returns whether a call of `userId` may run although all of `capacity` is taken, because others have more than their
   * share of it: what a user has beyond an even share does not count, and this user has less than its own.
   */
  hasShareLeft(userId: string | null, capacity: number): boolean {
    const runs = new Map<string | null, number>([[userId, 0]]);
    for (const run of this.#running) runs.set(run.userId, (runs.get(run.userId) ?? 0) + 1);
    const share = Math.max(1, Math.floor(capacity / runs.size));
    let counted = 0;
    for (const count of runs.values()) counted += Math.min(count, share);
    return (runs.get(userId) ?? 0) < share && counted < capacity;
  }

  /** Called when a replica begins to work on a call. */
  begin(method: string | undefined, userId: string | null): Run {
    const run: Run = { method, userId, startedAt: this.#clock.now() };
    this.#running.add(run);
    return run;
  }

  /** Called when a replica has ended a call. */
  end(run: Run): void {
    this.#running.delete(run);
  }

  /** Reserves a place for a later call. */
  reserve({ userId, priority, cost, weight }: Queued): Reservation {
    const place: Queued = { userId, priority, cost, weight };
    this.#reserved.add(place);
    return { release: () => void this.#reserved.remove(place) };
  }

  /** Records the duration of a call. `isWhole` is false when its caller did not wait for the end. */
  observe({ method = '', startedAt }: Run, isWhole: boolean): void {
    const ms = this.#clock.now() - startedAt;
    if (isWhole) this.#times.observe(method, ms);
    else this.#times.observeAtLeast(method, ms);
  }

  /** Returns the expected duration of a call of `method`; undefined before the first call. */
  expect(method: string | undefined): ServiceTime | undefined {
    return this.#times.expect(method);
  }

  /**
   * Returns the milliseconds until the turn of a call that arrives now.
   * @param capacity calls that run at the same time
   * @param queuedMs milliseconds of waiting work that is done before the call
   */
  waitOf(call: Queued, capacity: number, queuedMs: number): number {
    const now = this.#clock.now();
    const remaining = Array.from(this.#running, ({ method, startedAt }) => {
      const mean = this.#times.expect(method)?.mean ?? 0;
      return Math.max(OVERDUE_SHARE * mean, mean - (now - startedAt));
    });
    return waitingTime(capacity, remaining, queuedMs + this.#reserved.workAhead(call));
  }
}
