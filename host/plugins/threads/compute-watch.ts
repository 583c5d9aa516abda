import { readFileSync } from 'node:fs';
import { cell } from '../invocation/protocol.ts';

export const watchIntervalMs = 100;
/**
 * A guest that was told to stop looks that often at the latest; the call of the host's that it is in may take a while.
 */
const stopMs = 500;
/** A guest that has been on its thread for so many times its limit goes, however little of a processor it got. */
const maxStarvation = 30;

interface Seen {
  readonly entries: number;
  /** Looks that found the same guest on the thread, one after the other. */
  readonly ticks: number;
  /** What the thread had computed at the first of them. */
  readonly cpuMs: number | undefined;
}

/** What must be done about a guest that has computed too long. */
export interface Overdue {
  readonly slot: number;
  /** Which entry of guest code it was found in: an even number. */
  readonly entry: number;
  /** `stop`: it can be told to. `end`: its thread must go, because it does not listen. */
  readonly measure: 'stop' | 'end';
}

/**
 * Finds the guest that has computed too long without giving its thread back. Time is counted in looks, since a stall of
 * the whole process is no guest's fault, and besides in the thread's own computing time where the system tells it: on a
 * busy machine a thread waits for a processor.
 */
export class ComputeWatch {
  readonly #control: Int32Array;
  readonly #cpuSliceMs: number;
  readonly #isInterruptible: boolean;
  readonly #threadCpuMs: () => number | undefined;
  #seen: Seen = { entries: 0, ticks: 0, cpuMs: undefined };

  /**
   * @param isInterruptible whether guests look for themselves if they must stop.
   * @param threadCpuMs what the thread has computed so far, in milliseconds; undefined where nobody knows.
   */
  constructor(
    control: Int32Array,
    { cpuSliceMs, isInterruptible }: { readonly cpuSliceMs: number; readonly isInterruptible: boolean },
    threadCpuMs: () => number | undefined,
  ) {
    this.#control = control;
    this.#cpuSliceMs = cpuSliceMs;
    this.#isInterruptible = isInterruptible;
    this.#threadCpuMs = threadCpuMs;
  }

  /** To be called every {@link watchIntervalMs}: the guest over the limit, if there is one. */
  look(): Overdue | undefined {
    const running = Atomics.load(this.#control, cell.running);
    const entries = Atomics.load(this.#control, cell.entries) & ~1;
    const { entries: before, ticks, cpuMs } = this.#seen;
    if (running === 0 || entries !== before) this.#seen = { entries, ticks: 0, cpuMs: undefined };
    else this.#seen = { entries, ticks: ticks + 1, cpuMs: ticks === 0 ? this.#threadCpuMs() : cpuMs };
    if (!this.#isOver(this.#cpuSliceMs)) return undefined;
    const listens = this.#isInterruptible && !this.#isOver(this.#cpuSliceMs + stopMs);
    return { slot: running - 1, entry: entries, measure: listens ? 'stop' : 'end' };
  }

  #isOver(limitMs: number): boolean {
    const { ticks, cpuMs } = this.#seen;
    const limit = Math.max(2, Math.ceil(limitMs / watchIntervalMs));
    if (ticks < limit) return false;
    const now = cpuMs === undefined ? undefined : this.#threadCpuMs();
    if (cpuMs === undefined || now === undefined || ticks >= maxStarvation * limit) return true;
    return now - cpuMs >= Math.max(watchIntervalMs / 2, limitMs - watchIntervalMs); // the first tick is not in it
  }
}

/** What a thread has computed, as Linux tells it; `thread` is its folder in `/proc`. */
export function threadCpuMs(thread: string | undefined): number | undefined {
  if (thread === undefined) return undefined;
  try {
    const nanoseconds = Number(readFileSync(`/proc/${thread}/schedstat`, 'latin1').split(' ')[0]);
    return nanoseconds > 0 ? nanoseconds / 1e6 : undefined; // 0 where the kernel does not count
  } catch {
    return undefined;
  }
}
