import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** A process can allocate about a gigabyte per second. */
const INTERVAL_MS = 100;

/**
 * Checks the resident memory of the child ten times a second until it ends. Calls `onOver` once when it is more than
 * `maxBytes`. Does nothing on other systems than Linux.
 */
export function watchMemory(child: ChildProcess, maxBytes: number, onOver: () => void): void {
  if (process.platform !== 'linux' || child.pid === undefined) return;
  const status = `/proc/${child.pid}/status`;
  const look = async (): Promise<void> => {
    const text = await readFile(status, 'latin1').catch(() => ''); // the child has ended
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0);
    if (kilobytes * 1024 <= maxBytes || child.exitCode !== null || child.signalCode !== null) return;
    clearInterval(timer);
    onOver();
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  child.once('exit', () => clearInterval(timer)).once('error', () => clearInterval(timer));
}
