const STEPS = 0;
const STOPPED = 1;

/** What a thread and its owner share, because the thread reads no messages while it computes. */
export class Pulse {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Finished computations, and the steps that the thread has counted within them. */
  get steps(): number {
    return Atomics.load(this.#words, STEPS);
  }

  step(): void {
    Atomics.add(this.#words, STEPS, 1);
  }

  /** Whether nobody waits for the computation that runs, so that it should end at its next step. */
  get isStopped(): boolean {
    return Atomics.load(this.#words, STOPPED) === 1;
  }

  set isStopped(isStopped: boolean) {
    Atomics.store(this.#words, STOPPED, Number(isStopped));
  }
}
