import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** A process takes about a gigabyte in a second, if it does nothing else. */
const INTERVAL_MS = 100;

/**
 * Looks at the memory that the child has resident (without what it only reserved) ten times in a second, until it ends,
 * and calls `onOver` once when that is more than `maxBytes`. On other systems than Linux nobody looks.
 */
export function watchMemory(child: ChildProcess, maxBytes: number, onOver: () => void): void {
  if (process.platform !== 'linux' || child.pid === undefined) return;
  const status = `/proc/${child.pid}/status`;
  const look = async (): Promise<void> => {
    const text = await readFile(status, 'latin1').catch(() => ''); // it has ended
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0);
    if (kilobytes * 1024 <= maxBytes || child.exitCode !== null || child.signalCode !== null) return;
    clearInterval(timer);
    onOver();
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  child.once('exit', () => clearInterval(timer)).once('error', () => clearInterval(timer));
}
