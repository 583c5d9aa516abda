import { type Deferred, deferred } from '../deferred.ts';
import { FairQueue, type Queued } from '../fair-queue.ts';

interface Waiting extends Queued {
  readonly turn: Deferred<void>;
}

/** For whom work waits that belongs to no user. */
const NOBODY: Queued = { userId: null, priority: 0, cost: 1 };

/** The place that a piece of work has. */
export interface Place {
  /** Whether other work waits for a place. */
  readonly isWanted: boolean;
  /**
   * Lets other work have the place that waits, and resolves when this work has a place again. Rejects with the signal's
   * reason.
   */
  pass(): Promise<void>;
}

/** Lets at most `size` pieces of work run at the same time. The others wait: those of one user in order of arrival. */
export class Limiter {
  readonly #waiting = new FairQueue<Waiting>();
  #free: number;

  constructor(size: number) {
    this.#free = Math.max(1, size);
  }

  /**
   * Runs `work` when a place is free. Rejects with the signal's reason if it aborts before that. Afterwards `work` has
   * to watch the signal itself.
   * @param queued for whom it is. Default: all such work is of one user
   */
  async run<T>(work: (place: Place) => Promise<T>, signal?: AbortSignal, queued: Queued = NOBODY): Promise<T> {
    const waiting = this.#waiting;
    let isHeld = false;
    const enter = async (): Promise<void> => {
      await this.#enter(signal, queued);
      isHeld = true;
    };
    const leave = (): void => {
      if (isHeld) this.#leave();
      isHeld = false;
    };
    const place: Place = {
      get isWanted() {
        return waiting.size > 0;
      },
      pass() {
        leave();
        return enter();
      },
    };
    await enter();
    try {
      return await work(place);
    } finally {
      leave();
    }
  }

  async #enter(signal: AbortSignal | undefined, queued: Queued): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const waiting: Waiting = { ...queued, turn: deferred<void>() };
    this.#waiting.add(waiting);
    const onAbort = (): void => {
      if (this.#waiting.remove(waiting)) waiting.turn.reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await waiting.turn.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Frees a place. The next waiting work gets it directly, so that a newcomer cannot take it. */
  #leave(): void {
    const next = this.#waiting.take();
    if (next) next.turn.resolve();
    else this.#free += 1;
  }
}
