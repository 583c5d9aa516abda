import type { Clock } from '../../base/core/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A clock whose time passes only in {@link run}, from timer to timer. */
export class SimulatedClock implements Clock {
  #now = 0;
  #order = 0;
  /** A heap with the next timer first. */
  readonly #timers: Timer[] = [];
  #live = 0;

  now(): number {
    return this.#now;
  }

  /** Number of waiting timers, without cancelled ones. */
  get pending(): number {
    return this.#live;
  }

  /** Runs `run` after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#live += 1;
    this.#push(timer);
    return () => {
      if (timer.run) this.#live -= 1;
      timer.run = undefined;
    };
  }

  delay(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * Advances from timer to timer until `done` returns true or `limit` ms have passed. Before each timer, all
   * consequences of the previous one run. Calls `each` after each timer. Returns false if no timer was left or the
   * limit passed.
   */
  async run(done: () => boolean, limit: number, each: () => void): Promise<boolean> {
    const end = this.#now + limit;
    await settled();
    while (!done()) {
      const timer = this.#pop();
      if (!timer || timer.at > end) return false;
      if (!timer.run) continue;
      const { run } = timer;
      timer.run = undefined;
      this.#live -= 1;
      this.#now = timer.at;
      run();
      await settled();
      each();
    }
    return true;
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    heap.push(timer);
    let index = heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(heap[index], heap[parent])) return;
      swap(heap, index, parent);
      index = parent;
    }
  }

  #pop(): Timer | undefined {
    const heap = this.#timers;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    heap[0] = last;
    for (let index = 0; ;) {
      const [left, right] = [index * 2 + 1, index * 2 + 2];
      let least = index;
      if (isBefore(heap[left], heap[least])) least = left;
      if (isBefore(heap[right], heap[least])) least = right;
      if (least === index) return first;
      swap(heap, index, least);
      index = least;
    }
  }
}

function isBefore(one: Timer | undefined, other: Timer | undefined): boolean {
  if (!one || !other) return false;
  return one.at === other.at ? one.order < other.order : one.at < other.at;
}

function swap(heap: Timer[], one: number, other: number): void {
  const [a, b] = [heap[one], heap[other]];
  if (!a || !b) return;
  heap[one] = b;
  heap[other] = a;
}

/** Resolves when all pending consequences have run without time passing. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
