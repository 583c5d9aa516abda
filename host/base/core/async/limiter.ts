import { type Deferred, deferred } from '../deferred.ts';

/** Lets at most `size` pieces of work run at the same time. The others wait in order of arrival. */
export class Limiter {
  readonly #waiting = new Set<Deferred<void>>();
  #free: number;

  constructor(size: number) {
    this.#free = Math.max(1, size);
  }

  /**
   * Runs `work` when a place is free. Rejects with the signal's reason if it aborts before that. Afterwards `work` has
   * to watch the signal itself.
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = deferred<void>();
    this.#waiting.add(turn);
    const onAbort = (): void => {
      if (this.#waiting.delete(turn)) turn.reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Frees a place. The next waiting work gets it directly, so that a newcomer cannot take it. */
  #leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.resolve();
  }
}
