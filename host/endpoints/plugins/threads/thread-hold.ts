import { threadsNow } from '../../../base/core/clock.ts';
import { cell } from '../invocation/protocol.ts';

/**
 * Milliseconds for which a guest may occupy its thread before invocations that have not begun move to another thread.
 */
const longMs = 5;
/**
 * Milliseconds of further computing before an additional thread is started for them. A thread costs a tenth of a second
 * of computing and 12 MB.
 */
const worthMs = 15;

/** Tells waiting invocations for how long the current guest has occupied a thread. */
export class ThreadHold {
  readonly #control: Int32Array;
  readonly #threadCpuMs: () => number | undefined;
  /** The guest of the last question, and the computing time of the thread at that moment. */
  #seen: { readonly entries: number; readonly cpuMs: number | undefined } | undefined;

  /** @param threadCpuMs returns the computing time of the thread in milliseconds, or undefined where it is unknown. */
  constructor(control: Int32Array, threadCpuMs: () => number | undefined) {
    this.#control = control;
    this.#threadCpuMs = threadCpuMs;
  }

  /** Whether guest code is on the thread now. */
  get isTaken(): boolean {
    return Atomics.load(this.#control, cell.running) !== 0;
  }

  /** Whether the guest has occupied the thread for a while. Invocations that can move do not wait for it. */
  get isLong(): boolean {
    return this.isTaken && this.#ageMs >= longMs;
  }

  /**
   * Whether the guest has computed for so long that an additional thread is worth its cost. The time is the computing
   * time of the thread where the system reports it, counted from the first question, because a thread that waits for a
   * processor would wait longer beside another thread.
   */
  isWorthThread(): boolean {
    if (!this.isLong) return false;
    const entries = Atomics.load(this.#control, cell.entries) & ~1;
    const now = this.#threadCpuMs();
    if (this.#seen?.entries !== entries) this.#seen = { entries, cpuMs: now };
    const { cpuMs } = this.#seen;
    return cpuMs === undefined || now === undefined ? this.#ageMs >= longMs + worthMs : now - cpuMs >= worthMs;
  }

  get #ageMs(): number {
    return (threadsNow() - Atomics.load(this.#control, cell.enteredAt)) | 0;
  }
}

/** Writes the current time into the cell `enteredAt`. */
export function enteredNow(control: Int32Array): void {
  Atomics.store(control, cell.enteredAt, threadsNow() | 0);
}
