// Loaded into the host of the soak before its own code (`node --expose-gc --import`). Answers each message of the soak
// with the memory of the process after a forced collection.
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapCodeStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/** Bytes of the host after a forced collection. */
export interface Memory {
  readonly heapUsed: number;
  /**
   * The part of the heap that is machine code and its tables. V8 compiles functions as they become hot, for hours under
   * mixed load, and keeps one form of each, so this part grows more and more slowly without a leak.
   */
  readonly code: number;
  /** Bytes outside of the heap that objects of the heap own, with the bytes of their buffers. */
  readonly external: number;
  readonly rss: number;
}

/** The callbacks of a collection can make further objects unreachable. */
const COLLECTIONS = 4;

async function memoryAfterCollection(): Promise<Memory> {
  for (let round = 0; round < COLLECTIONS; round += 1) {
    globalThis.gc?.();
    await sleep(50);
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const { code_and_metadata_size: code } = getHeapCodeStatistics();
  return { heapUsed, code, external, rss };
}

if (isMainThread && process.send !== undefined) {
  process.on('message', () => void memoryAfterCollection().then((memory) => process.send?.(memory)));
  process.channel?.unref(); // the soak must not keep a host alive that has ended
}
