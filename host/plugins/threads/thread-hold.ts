import { cell } from '../invocation/protocol.ts';

/** Milliseconds that a guest may be on its thread before requests that have not begun there go to another one. */
const longMs = 5;
/**
 * Milliseconds that it computes besides before a further thread is started for them, which costs a tenth of a second of
 * computing and 12 MB.
 */
const worthMs = 15;

/** The guest that is on a thread, as requests see it that wait for the thread: for how long has it been there? */
export class ThreadHold {
  readonly #control: Int32Array;
  readonly #threadCpuMs: () => number | undefined;
  /** The guest that was asked about last, and what the thread had computed then. */
  #seen: { readonly entries: number; readonly cpuMs: number | undefined } | undefined;

  /** @param threadCpuMs what the thread has computed so far, in milliseconds; undefined where nobody knows. */
  constructor(control: Int32Array, threadCpuMs: () => number | undefined) {
    this.#control = control;
    this.#threadCpuMs = threadCpuMs;
  }

  /** Whether guest code is on the thread now. */
  get isTaken(): boolean {
    return Atomics.load(this.#control, cell.running) !== 0;
  }

  /** Whether the guest on the thread has been there for a while: who can go elsewhere does not wait for it. */
  get isLong(): boolean {
    return this.isTaken && this.#ageMs >= longMs;
  }

  /**
   * Whether the guest on the thread has computed for so long that a further thread is worth its price. Time is the
   * thread's own where the system tells it, from the first time on that this is asked, because a thread that waits for
   * a processor would only wait longer beside another one.
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
    return (Date.now() - Atomics.load(this.#control, cell.enteredAt)) | 0;
  }
}

/**
 * For the cell `enteredAt`: now. The clock is one that threads share; a person who sets it makes requests move without
 * need, or later than they could.
 */
export function enteredNow(control: Int32Array): void {
  Atomics.store(control, cell.enteredAt, Date.now() | 0);
}
