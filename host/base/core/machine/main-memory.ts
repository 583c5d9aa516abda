import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * Returns the bytes of main memory that can be allocated without swapping: the memory that Linux calls available, or
 * the rest of a control group's limit if that is less. Cached files count as free, including mapped files of models.
 * Undefined on other systems than Linux.
 */
export function freeMainBytes(root = '/'): number | undefined {
  const available = fieldOf(readText(join(root, 'proc/meminfo')), /^MemAvailable:\s+(\d+) kB$/m);
  if (available === undefined) return undefined;
  return Math.max(0, Math.min(available * 1024, ...groupsOf(root).flatMap((folder) => freeOfGroup(folder) ?? [])));
}

/**
 * Returns the number of processors that this process may use: its affinity, or the control group's quota if that is
 * less. At least 1.
 */
export function usableCpus(root = '/', parallelism = availableParallelism()): number {
  const quotas = groupsOf(root).flatMap((folder) => {
    const [quota = Number.NaN, period = Number.NaN] = (readText(join(folder, 'cpu.max')) ?? '').split(' ').map(Number);
    return quota > 0 && period > 0 ? [quota / period] : [];
  });
  return Math.max(1, Math.floor(Math.min(parallelism, ...quotas)));
}

/**
 * Returns the folders of the control groups (version 2) of this process, the innermost first. A container sees its own
 * group as the root.
 */
function groupsOf(root: string): string[] {
  const mount = join(root, 'sys/fs/cgroup');
  const path = /^0::(\/.*)$/m.exec(readText(join(root, 'proc/self/cgroup')) ?? '')?.[1] ?? '/';
  const names = path.split('/').filter((name) => name !== '' && name !== '..');
  return Array.from({ length: names.length + 1 }, (_, depth) => join(mount, ...names.slice(0, names.length - depth)));
}

function freeOfGroup(folder: string): number | undefined {
  const limit = Number(readText(join(folder, 'memory.max')) ?? Number.NaN); // "max" becomes NaN
  const used = Number(readText(join(folder, 'memory.current')) ?? Number.NaN);
  if (Number.isNaN(limit) || Number.isNaN(used)) return undefined;
  const stat = readText(join(folder, 'memory.stat'));
  const cached = (fieldOf(stat, /^active_file (\d+)$/m) ?? 0) + (fieldOf(stat, /^inactive_file (\d+)$/m) ?? 0);
  return limit - used + cached;
}

function fieldOf(text: string | undefined, pattern: RegExp): number | undefined {
  const digits = text === undefined ? undefined : pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
