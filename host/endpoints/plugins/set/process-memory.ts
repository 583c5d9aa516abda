import { readFileSync } from 'node:fs';

/** Returns the bytes that a process does not share with others. Undefined where the system has no `/proc`. */
export function memoryOf(pid: number): number | undefined {
  try {
    const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1_024;
  } catch {
    return undefined; // it has ended, or it is another system
  }
}
