import { cell } from '../invocation/protocol.ts';

/** Bits of a slot's cell: the client has gone; the thread has begun the invocation; the host has taken it back. */
const bit = { clientGone: 1, begun: 2, takenBack: 4 } as const;

/**
 * The invocations that the host has given to one thread. Each one has a slot with a cell in shared memory. The host can
 * take back an invocation that the thread has not begun, and give it to another thread. Host and thread each set one
 * bit of the cell and read the other's bit, so exactly one of them has the invocation.
 */
export class Slots {
  readonly #control: Int32Array;
  /**
   * The invocation in each slot. `undefined`: the slot is free. `gone`: the host has taken the invocation back, and the
   * thread has not seen that yet.
   */
  readonly #ids: (number | 'gone' | undefined)[];
  #used = 0;
  #gone = 0;

  constructor(control: Int32Array, count: number) {
    this.#control = control;
    this.#ids = Array.from({ length: count });
  }

  get count(): number {
    return this.#ids.length;
  }

  /**
   * Slots that can take an invocation. The slot of an invocation that was taken back is not free until the thread has
   * seen it.
   */
  get free(): number {
    return this.#ids.length - this.#used - this.#gone;
  }

  /** The number of invocations that the thread has. */
  get used(): number {
    return this.#used;
  }

  /** Whether all slots are free. */
  get isEmpty(): boolean {
    return this.free === this.count;
  }

  /** Ids of the invocations that the thread has. */
  get ids(): readonly number[] {
    return this.#ids.filter((id) => typeof id === 'number');
  }

  /** The number of invocations that the thread has not begun. */
  get notBegun(): number {
    let count = 0;
    for (let slot = 0; slot < this.#ids.length; slot++)
      if (typeof this.#ids[slot] === 'number' && !this.#has(slot, bit.begun)) count++;
    return count;
  }

  idIn(slot: number): number | undefined {
    const id = this.#ids[slot];
    return typeof id === 'number' ? id : undefined;
  }

  /** Puts an invocation into a free slot. Returns the slot. */
  take(id: number): number {
    const slot = this.#ids.indexOf(undefined);
    this.#ids[slot] = id;
    this.#used++;
    Atomics.store(this.#control, cell.slots + slot, 0);
    return slot;
  }

  /** Frees the slot of an invocation that has ended. Returns false when the invocation has no slot. */
  release(id: number): boolean {
    const slot = this.#ids.indexOf(id);
    if (slot < 0) return false;
    this.#ids[slot] = undefined;
    this.#used--;
    return true;
  }

  /** Frees a slot after the thread has seen that its invocation was taken back. */
  releaseGone(slot: number): void {
    if (this.#ids[slot] !== 'gone') return;
    this.#ids[slot] = undefined;
    this.#gone--;
  }

  /** Tells the guest that its client has gone. */
  markClientGone(id: number): void {
    const slot = this.#ids.indexOf(id);
    if (slot >= 0) Atomics.or(this.#control, cell.slots + slot, bit.clientGone);
  }

  /** Takes an invocation back. Returns false when the thread has begun the invocation or does not have it. */
  takeBack(id: number): boolean {
    const slot = this.#ids.indexOf(id);
    if (slot < 0 || this.#has(slot, bit.begun)) return false;
    // The thread was faster and ignores this bit from now on.
    if ((Atomics.or(this.#control, cell.slots + slot, bit.takenBack) & bit.begun) !== 0) return false;
    this.#ids[slot] = 'gone';
    this.#used--;
    this.#gone++;
    return true;
  }

  #has(slot: number, bits: number): boolean {
    return (Atomics.load(this.#control, cell.slots + slot) & bits) !== 0;
  }
}

/**
 * Begins the invocation in a slot. Called in the thread. Returns false when the host has taken the invocation back,
 * which must not run then.
 */
export function begins(control: Int32Array, slot: number): boolean {
  return (Atomics.or(control, cell.slots + slot, bit.begun) & bit.takenBack) === 0;
}

/** Whether the client of the invocation in a slot has gone. Called in the thread. */
export function isClientGone(control: Int32Array, slot: number): boolean {
  return (Atomics.load(control, cell.slots + slot) & bit.clientGone) !== 0;
}
