import { cell } from '../invocation/protocol.ts';

/** Bits of a slot's cell: the client has gone; the thread has begun the invocation; the host has taken it back. */
const bit = { clientGone: 1, begun: 2, takenBack: 4 } as const;

/**
 * The invocations that the host has given to one thread, each in a slot with a cell that both share. An invocation that
 * the thread has not begun can be taken back, to be run by another thread: host and thread each set a bit of the cell
 * and look at the other's, so that exactly one of them has the invocation.
 */
export class Slots {
  readonly #control: Int32Array;
  /** By slot. `undefined`: it is free. `gone`: its invocation was taken back, and the thread has not seen that yet. */
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
   * Slots that can take an invocation. Those of invocations that were taken back cannot, until the thread has seen
   * that.
   */
  get free(): number {
    return this.#ids.length - this.#used - this.#gone;
  }

  /** Invocations that the thread has. */
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

  /** Invocations that the thread has and has not begun. */
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

  /** The slot of an invocation that has ended is free again. Returns false when it has none. */
  release(id: number): boolean {
    const slot = this.#ids.indexOf(id);
    if (slot < 0) return false;
    this.#ids[slot] = undefined;
    this.#used--;
    return true;
  }

  /** The thread has seen that the invocation in a slot was taken back: the slot is free again. */
  releaseGone(slot: number): void {
    if (this.#ids[slot] !== 'gone') return;
    this.#ids[slot] = undefined;
    this.#gone--;
  }

  /** Lets the guest see that its client has gone. */
  markClientGone(id: number): void {
    const slot = this.#ids.indexOf(id);
    if (slot >= 0) Atomics.or(this.#control, cell.slots + slot, bit.clientGone);
  }

  /** Takes an invocation back. Returns false when the thread has begun it, or does not have it. */
  takeBack(id: number): boolean {
    const slot = this.#ids.indexOf(id);
    if (slot < 0 || this.#has(slot, bit.begun)) return false;
    if ((Atomics.or(this.#control, cell.slots + slot, bit.takenBack) & bit.begun) !== 0) return false; // the thread was faster, and does not look at the bit any more
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
 * In the thread: begins the invocation in a slot. Returns false when the host has taken it back; it must not run then.
 */
export function begins(control: Int32Array, slot: number): boolean {
  return (Atomics.or(control, cell.slots + slot, bit.begun) & bit.takenBack) === 0;
}

/** In the thread: whether the client of the invocation in a slot has gone. */
export function isClientGone(control: Int32Array, slot: number): boolean {
  return (Atomics.load(control, cell.slots + slot) & bit.clientGone) !== 0;
}
