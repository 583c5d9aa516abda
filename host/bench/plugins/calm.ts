import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Others use less than this of a core where a machine is called calm. */
const calmCores = 0.1;
const lookMs = 300;

/** CPU time of all processes and of the kernel, in milliseconds. */
const busyMs = (): number =>
  cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0);

/** Measures what the machine does besides a measurement. */
export function machineUsage(): {
  /** Cores that others used since, on average, when the measurement used so many milliseconds of CPU time. */ othersSince(
    ownMs: number,
  ): number;
} {
  const startedAt = performance.now();
  const busyBefore = busyMs();
  return { othersSince: (ownMs) => Math.max(0, busyMs() - busyBefore - ownMs) / (performance.now() - startedAt) };
}

/** Waits until the machine does nothing else for a moment, at most so long. */
export async function calm(limitMs: number): Promise<void> {
  const until = performance.now() + limitMs;
  while (performance.now() < until) {
    const machine = machineUsage();
    await sleep(lookMs);
    if (machine.othersSince(0) < calmCores) return;
  }
}
