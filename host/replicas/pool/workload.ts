import type { Clock } from '../../core/clock.ts';
import { FairQueue, type Queued } from '../../core/fair-queue.ts';
import { type ServiceTime, ServiceTimes } from './service-times.ts';
import { waitingTime } from './waiting-time.ts';

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

/** A running call that has taken longer than expected is expected to take this share of its time again. */
const OVERDUE_SHARE = 0.1;

/**
 * The work that the replicas of a deployment have: calls that run, and places that are kept for calls that come later.
 * Estimates how long a new call waits because of it.
 */
export class Workload {
  readonly #clock: Clock;
  readonly #running = new Set<Run>();
  readonly #reserved = new FairQueue<Queued>();
  readonly #times = new ServiceTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of calls that run. */
  get running(): number {
    return this.#running.size;
  }

  /** The number of places that are kept. */
  get reserved(): number {
    return this.#reserved.size;
  }

  /** A replica begins to work on a call. */
  begin(method: string | undefined): Run {
    const run: Run = { method, startedAt: this.#clock.now() };
    this.#running.add(run);
    return run;
  }

  /** A replica has let go of a call. */
  end(run: Run): void {
    this.#running.delete(run);
  }

  /** Keeps a place for a call that comes later. */
  reserve({ userId, priority, cost }: Queued): Reservation {
    const place: Queued = { userId, priority, cost };
    this.#reserved.add(place);
    return { release: () => void this.#reserved.remove(place) };
  }

  /** A call gave its answer; `isWhole` is false for one whose caller did not wait for it. */
  observe({ method = '', startedAt }: Run, isWhole: boolean): void {
    const ms = this.#clock.now() - startedAt;
    if (isWhole) this.#times.observe(method, ms);
    else this.#times.observeAtLeast(method, ms);
  }

  /** How long a call of `method` takes; undefined before the first call. */
  expect(method: string | undefined): ServiceTime | undefined {
    return this.#times.expect(method);
  }

  /**
   * Returns the milliseconds until it is the turn of a call that comes now.
   * @param slots calls that run at the same time
   * @param queuedMs milliseconds of work that waits and is done before the call
   */
  waitOf(call: Queued, slots: number, queuedMs: number): number {
    const now = this.#clock.now();
    const remaining = Array.from(this.#running, ({ method, startedAt }) => {
      const mean = this.#times.expect(method)?.mean ?? 0;
      return Math.max(OVERDUE_SHARE * mean, mean - (now - startedAt));
    });
    return waitingTime(slots, remaining, queuedMs + this.#reserved.workAhead(call));
  }
}
