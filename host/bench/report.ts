import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { packageRoot } from '../base/core/package-root.ts';

export const round = (value: number, digits = 3): number => Number(value.toFixed(digits));

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns the least value that is not below `part` of all values, from 0 to 1. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

/** Returns the load averages of the machine over 1, 5 and 15 minutes. */
export const machineLoad = (): number[] => loadavg().map((one) => round(one, 1));

/** Returns the fields with which every report begins. */
export function reportHead(benchmark: string, loadBefore: readonly number[]): Record<string, unknown> {
  return {
    benchmark,
    date: new Date().toISOString(),
    commit: execFileSync('git', ['describe', '--always', '--dirty'], { cwd: packageRoot, encoding: 'utf8' }).trim(),
    machine: {
      node: process.version,
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      loadBefore,
      loadAfter: machineLoad(),
    },
  };
}
