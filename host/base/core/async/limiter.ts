import { type Deferred, deferred } from '../deferred.ts';
import { FairQueue, type Queued } from '../fair-queue.ts';

interface Waiting extends Queued {
  readonly turn: Deferred<void>;
}

/** For whom work waits that belongs to no user. */
const NOBODY: Queued = { userId: null, priority: 0, cost: 1 };

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
  async run<T>(work: () => Promise<T>, signal?: AbortSignal, queued: Queued = NOBODY): Promise<T> {
    await this.#enter(signal, queued);
    try {
      return await work();
    } finally {
      this.#leave();
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
