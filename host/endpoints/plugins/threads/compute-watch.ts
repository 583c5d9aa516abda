import { readFileSync } from 'node:fs';
import { cell } from '../invocation/protocol.ts';

export const watchIntervalMs = 100;
/**
 * Milliseconds until a guest that was told to stop has noticed it. A guest inside a call of the host may take longer.
 */
const stopMs = 500;
/**
 * A guest is ended when it has occupied its thread for this many times its limit, even if it got little processor time.
 */
const maxStarvation = 30;

interface Seen {
  readonly entries: number;
  /** Consecutive looks that found the same guest on the thread. */
  readonly ticks: number;
  /** Computing time of the thread at the first of these looks, in milliseconds. */
  readonly cpuMs: number | undefined;
}

/** The action for a guest that has computed for too long. */
export interface Overdue {
  readonly slot: number;
  /** The entry of guest code in which the guest was found: an even number. */
  readonly entry: number;
  /** `stop`: the guest can be told to stop. `end`: the thread must end, because the guest does not look. */
  readonly measure: 'stop' | 'end';
}

/**
 * Finds a guest that has computed for too long without giving its thread back. It counts looks instead of time, because
 * a stall of the whole process is not the fault of a guest. It also counts the computing time of the thread where the
 * system reports it, because a thread on a busy machine waits for a processor.
 */
export class ComputeWatch {
  readonly #control: Int32Array;
  readonly #cpuSliceMs: number;
  readonly #isInterruptible: boolean;
  readonly #threadCpuMs: () => number | undefined;
  #seen: Seen = { entries: 0, ticks: 0, cpuMs: undefined };

  /**
   * @param isInterruptible whether guests notice themselves that they must stop.
   * @param threadCpuMs returns the computing time of the thread in milliseconds, or undefined where it is unknown.
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

  /**
   * Looks at the thread. The owner calls it every {@link watchIntervalMs}. Returns the guest that is over the limit, if
   * there is one.
   */
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
    return now - cpuMs >= Math.max(watchIntervalMs / 2, limitMs - watchIntervalMs); // the first tick is not counted
  }
}

/** Returns the computing time of a thread in milliseconds, from Linux. `thread` is the thread's folder in `/proc`. */
export function threadCpuMs(thread: string | undefined): number | undefined {
  if (thread === undefined) return undefined;
  try {
    const nanoseconds = Number(readFileSync(`/proc/${thread}/schedstat`, 'latin1').split(' ')[0]);
    return nanoseconds > 0 ? nanoseconds / 1e6 : undefined; // 0 where the kernel does not count
  } catch {
    return undefined;
  }
}
