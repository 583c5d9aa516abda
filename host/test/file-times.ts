import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageRoot } from '../base/core/package-root.ts';

/** CPU seconds of each test file, by its path in the repository. */
export type FileTimes = Readonly<Record<string, number>>;

const recorded = join(packageRoot, '.aana', 'test-times.json');

/** Returns the CPU seconds of earlier runs. A file that cannot be read counts as empty. */
export function readFileTimes(): FileTimes {
  try {
    return JSON.parse(readFileSync(recorded, 'utf8')) as FileTimes;
  } catch {
    return {};
  }
}

/** Records the CPU seconds of this run. Those of other files that still exist stay. */
export async function recordFileTimes(times: FileTimes): Promise<void> {
  const all = Object.entries({ ...readFileTimes(), ...times }).filter(([file]) => existsSync(join(packageRoot, file)));
  await mkdir(dirname(recorded), { recursive: true });
  await writeFile(recorded, `${JSON.stringify(Object.fromEntries(all.toSorted()), null, 2)}\n`);
}

/**
 * Returns the files, those with the most CPU seconds first, so that no job works on a long file alone at the end. Files
 * that were never measured come before all others.
 */
export function longestFirst(files: readonly string[], times: FileTimes): string[] {
  const seconds = (file: string): number => times[file] ?? Infinity;
  return files.toSorted((a, b) => (seconds(a) === seconds(b) ? b.localeCompare(a) : seconds(b) - seconds(a)));
}

/** Returns the ten files with the most CPU seconds, one a line, and the CPU minutes of all. */
export function describeFileTimes(times: FileTimes): string {
  const entries = Object.entries(times);
  const slowest = entries.toSorted(([, a], [, b]) => b - a).slice(0, 10);
  const sum = entries.reduce((total, [, seconds]) => total + seconds, 0);
  return [
    'The test files with the most CPU time:',
    ...slowest.map(([file, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${file}`),
    `CPU time of all test files: ${(sum / 60).toFixed(1)} minutes`,
  ].join('\n');
}
