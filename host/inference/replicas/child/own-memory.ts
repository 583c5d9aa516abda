import { readFileSync } from 'node:fs';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';

/** Returns the main memory of this process. On other systems than Linux all of it counts as private. */
export function ownMemory(): Pick<ReplicaMemory, 'privateBytes' | 'fileBytes'> {
  const status = readStatus();
  const kilobytesOf = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  const privateBytes = (kilobytesOf('RssAnon') + kilobytesOf('RssShmem')) * 1024;
  return privateBytes > 0
    ? { privateBytes, fileBytes: kilobytesOf('RssFile') * 1024 }
    : { privateBytes: process.memoryUsage.rss(), fileBytes: 0 };
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8');
  } catch {
    return '';
  }
}
