import { openSync, readSync } from 'node:fs';

/**
 * Cells of the memory that the main thread and a thread of guests share. `wake` changes with each message for the
 * thread. `stretch` is odd while a guest computes, and grows by 2 with each stretch without a wait. `cpuMs` and
 * `stretchMs` are the limits of the run. `isEnding`: the guest is cancelled. `never` is 0.
 */
export const cell = { wake: 0, stretch: 1, cpuMs: 2, stretchMs: 3, isEnding: 4, never: 5 } as const;
const cellBytes = 32;
/** Index of the microseconds that the run has computed before this stretch, in 64 bits. */
const spent = 3; // after six cells of 32 bits

export const newControl = (): SharedArrayBuffer => new SharedArrayBuffer(cellBytes);

/** Computing time of the own thread in milliseconds, without waits for a processor. Node 20 does not report it. */
const { threadCpuUsage } = process as { threadCpuUsage?(): NodeJS.CpuUsage };
const ownMs = threadCpuUsage
  ? (): number => {
      const { user, system } = threadCpuUsage.call(process);
      return (user + system) / 1000;
    }
  : (): number => threadMsOf(ownSchedstat()) ?? performance.now();

/** The computing time of a run, measured by its thread. */
export class Stopwatch {
  readonly #cells: Int32Array;
  readonly #times: BigInt64Array;
  #ms = 0;
  #since = 0;

  constructor(control: SharedArrayBuffer) {
    this.#cells = new Int32Array(control);
    this.#times = new BigInt64Array(control);
  }

  begin(cpuMs: number, stretchMs: number): void {
    this.#ms = 0;
    Atomics.store(this.#times, spent, 0n);
    Atomics.store(this.#cells, cell.cpuMs, cpuMs);
    Atomics.store(this.#cells, cell.stretchMs, stretchMs);
    this.enter();
  }

  /** The guest computes from now on. */
  enter(): void {
    this.#since = ownMs();
    Atomics.add(this.#cells, cell.stretch, 1);
  }

  /** The guest waits, or has ended. Returns the milliseconds of computing so far. */
  leave(): number {
    this.#ms += ownMs() - this.#since;
    Atomics.add(this.#cells, cell.stretch, 1);
    Atomics.store(this.#times, spent, BigInt(Math.round(this.#ms * 1000)));
    return this.#ms;
  }
}

export const lookMs = 50;
/** A guest is ended when it has held its thread for this many times its limit, however little it has computed. */
const maxStarvation = 30;

/** A guest that has computed for too long. */
export interface Overdue {
  readonly code: 'cpu' | 'stretch';
  readonly limitMs: number;
}

/**
 * Finds a guest that computes for too long. It counts looks in place of time, because a stall of the whole process is
 * not the fault of a guest, and less where the system reports the computing time of the thread.
 */
export class Watch {
  readonly #cells: Int32Array;
  readonly #times: BigInt64Array;
  /** Returns the computing time of the thread in milliseconds, or undefined where it is unknown. */
  readonly #threadMs: () => number | undefined;
  #stretch = 0;
  /** Milliseconds of looks that found the same stretch. */
  #heldMs = 0;
  #sinceMs: number | undefined;

  constructor(control: SharedArrayBuffer, threadMs: () => number | undefined) {
    this.#cells = new Int32Array(control);
    this.#times = new BigInt64Array(control);
    this.#threadMs = threadMs;
  }

  /** Milliseconds that the run has computed. */
  get cpuMs(): number {
    return Number(Atomics.load(this.#times, spent)) / 1000 + this.#stretchMs();
  }

  /** The owner calls it every {@link lookMs}. */
  look(): Overdue | undefined {
    const stretch = Atomics.load(this.#cells, cell.stretch);
    if (stretch !== this.#stretch) {
      this.#stretch = stretch;
      this.#heldMs = 0;
      this.#sinceMs = this.#threadMs();
      return undefined;
    }
    if (!this.#isComputing) return undefined;
    this.#heldMs += lookMs;
    const limit = { cpu: this.#cells[cell.cpuMs]!, stretch: this.#cells[cell.stretchMs]! };
    const held = this.#heldMs / maxStarvation;
    if (Math.max(held, this.#stretchMs()) >= limit.stretch) return { code: 'stretch', limitMs: limit.stretch };
    return Math.max(held, this.cpuMs) >= limit.cpu ? { code: 'cpu', limitMs: limit.cpu } : undefined;
  }

  get #isComputing(): boolean {
    return (this.#stretch & 1) === 1;
  }

  #stretchMs(): number {
    if (!this.#isComputing) return 0;
    const now = this.#sinceMs === undefined ? undefined : this.#threadMs();
    return now === undefined ? this.#heldMs : Math.max(0, Math.min(this.#heldMs, now - this.#sinceMs!));
  }
}

let schedstat: number | undefined;

/** Opens the computing time of this thread, which other threads cannot ask for. Undefined where the system has none. */
export function ownSchedstat(): number | undefined {
  try {
    return (schedstat ??= openSync('/proc/thread-self/schedstat', 'r'));
  } catch {
    return undefined;
  }
}

/** Returns the computing time of a thread in milliseconds, from its open `schedstat` of Linux. */
export function threadMsOf(file: number | undefined): number | undefined {
  if (file === undefined) return undefined;
  const bytes = Buffer.alloc(64);
  try {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    const nanoseconds = Number(bytes.toString('latin1', 0, length).split(' ')[0]);
    return nanoseconds > 0 ? nanoseconds / 1e6 : undefined; // 0 where the kernel does not count
  } catch {
    return undefined; // the thread has ended
  }
}
