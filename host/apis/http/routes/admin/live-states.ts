import { type Deferred, deferred } from '../../../../base/core/deferred.ts';
import { delay, raceAbort } from '../../../../base/core/abort.ts';

/**
 * One series of states for all readers: each state is made and turned into JSON once, however many read, and none is
 * made while nobody reads. A slow reader misses states.
 */
export class LiveStates {
  readonly #make: () => Promise<unknown>;
  readonly #intervalMs: number;
  #readers = 0;
  /** JSON of the newest state. Undefined while nobody reads. */
  #newest: string | undefined;
  #next: Deferred<string> = deferred();
  #rest = new AbortController();

  /** `make` returns the state now. A state that it rejects is left out. */
  constructor(make: () => Promise<unknown>, intervalMs: number) {
    this.#make = make;
    this.#intervalMs = intervalMs;
  }

  /** Yields the newest state at once, and each later one, as JSON. Ends with the reason of the signal. */
  async *read(signal: AbortSignal): AsyncGenerator<string, void> {
    this.#readers += 1;
    if (this.#readers === 1) {
      this.#rest = new AbortController();
      void this.#makeUntil(this.#rest.signal);
    }
    try {
      let state = this.#newest ?? (await raceAbort(this.#next.promise, signal));
      for (;;) {
        const next = this.#next.promise; // before the state is sent, so that none is missed
        yield state;
        state = await raceAbort(next, signal);
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0) {
        this.#rest.abort();
        this.#newest = undefined;
      }
    }
  }

  async #makeUntil(rest: AbortSignal): Promise<void> {
    while (!rest.aborted) {
      const text = await this.#make().then(JSON.stringify, () => undefined);
      if (rest.aborted) return;
      if (text !== undefined) this.#publish(text);
      await delay(this.#intervalMs, rest).catch(() => {});
    }
  }

  #publish(text: string): void {
    this.#newest = text;
    const made = this.#next;
    this.#next = deferred();
    made.resolve(text);
  }
}
