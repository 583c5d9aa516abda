import { join } from 'node:path';
import { groupsOf, readText } from './system-files.ts';

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
