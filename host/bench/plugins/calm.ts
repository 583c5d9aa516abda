import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A machine is calm if other programs use less than this share of one core. */
const calmCores = 0.1;
const lookMs = 300;

/** Returns the CPU time of all processes and of the kernel, in milliseconds. */
const busyMs = (): number =>
  cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0);

/** Starts to measure the work of other programs on the machine. */
export function machineUsage(): {
  /**
   * Returns the average number of cores that other programs used since the start. `ownMs` is the CPU time of the
   * measurement itself in milliseconds.
   */
  othersSince(ownMs: number): number;
} {
  const startedAt = performance.now();
  const busyBefore = busyMs();
  return { othersSince: (ownMs) => Math.max(0, busyMs() - busyBefore - ownMs) / (performance.now() - startedAt) };
}

/** Waits until other programs are idle for a moment, at most `limitMs`. */
export async function calm(limitMs: number): Promise<void> {
  const until = performance.now() + limitMs;
  while (performance.now() < until) {
    const machine = machineUsage();
    await sleep(lookMs);
    if (machine.othersSince(0) < calmCores) return;
  }
}
