import { readFile } from 'node:fs/promises';
import { filesBelow } from './files.ts';

/** Versions of the C and C++ libraries that binaries of Linux need. A library is absent if they need none of it. */
export interface NeededVersions {
  /** Such as `2.34`. */
  readonly glibc?: string;
  /** Version of the symbols of libstdc++, such as `3.4.30` for that of GCC 12. */
  readonly glibcxx?: string;
}

/** Returns the newest versions of symbols that the binaries in a folder, and below it, ask for. */
export async function neededVersions(folder: string): Promise<NeededVersions> {
  const contents = await Promise.all((await filesBelow(folder)).map((file) => readFile(file, 'latin1')));
  const glibc = newestOf(contents, /\bGLIBC_(\d+(?:\.\d+)+)\0/g);
  const glibcxx = newestOf(contents, /\bGLIBCXX_(\d+(?:\.\d+)+)\0/g);
  return { ...(glibc && { glibc }), ...(glibcxx && { glibcxx }) };
}

/** Compares versions such as `2.9` and `2.34` by their numbers. Returns a negative number if `a` is the older one. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number)) as [number[], number[]];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function newestOf(contents: readonly string[], pattern: RegExp): string | undefined {
  const found = contents.flatMap((content) => [...content.matchAll(pattern)].map(([, version = '']) => version));
  return found.toSorted(compareVersions).at(-1);
}
