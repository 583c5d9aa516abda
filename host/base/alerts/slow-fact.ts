import { type Clock, systemClock } from '../core/clock.ts';

/** A value is forgotten when no newer one came for this number of intervals. */
const STALE_AFTER = 5;

/** A fact whose reading may take long or hang, such as that of a file system of the network. */
export class SlowFact<T> {
  readonly #read: () => Promise<T | undefined>;
  readonly #everyMs: number;
  readonly #clock: Pick<Clock, 'now'>;
  #value: T | undefined;
  #readAt = -Infinity;
  #beganAt = -Infinity;
  #isReading = false;

  /** `read` is called at most once in `everyMs`, and never twice at a time. */
  constructor(read: () => Promise<T | undefined>, everyMs: number, clock: Pick<Clock, 'now'> = systemClock) {
    this.#read = read;
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** Returns the last value, and begins to read a newer one if it is time. Undefined while there is none. */
  get(): T | undefined {
    const now = this.#clock.now();
    if (!this.#isReading && now - this.#beganAt >= this.#everyMs) void this.#refresh(now);
    return now - this.#readAt > this.#everyMs * STALE_AFTER ? undefined : this.#value;
  }

  async #refresh(now: number): Promise<void> {
    this.#isReading = true;
    this.#beganAt = now;
    try {
      this.#value = await this.#read();
      this.#readAt = this.#clock.now();
    } catch {
      // The last value stays until it is stale.
    } finally {
      this.#isReading = false;
    }
  }
}
