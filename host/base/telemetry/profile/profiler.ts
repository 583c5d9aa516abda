import { Session } from 'node:inspector';
import { promisify } from 'node:util';
import { getHeapSnapshot, getHeapStatistics } from 'node:v8';
import { delay, signalWithin } from '../../core/abort.ts';
import { fail } from '../../core/errors.ts';

/** Longest CPU profile in seconds. */
export const MAX_PROFILE_S = 60;
/** Time in which the caller must have read a heap snapshot, which the process keeps in memory until then. */
const READ_TIMEOUT_MS = 600_000;
/** Characters of each part of a CPU profile. */
const PART_CHARS = 65_536;
const SAMPLING_INTERVAL_US = 1000;
/** A heap snapshot needs about the memory of the heap again, and text of it. */
const SNAPSHOT_FACTOR = 2;

/**
 * Profiles of this process, one at a time, as the texts of files for Chrome's DevTools. Throws `ProfileRefused` while
 * another one is made.
 */
export class Profiler {
  #isBusy = false;

  /** Yields the parts of a `.cpuprofile` of the main thread over `seconds`. It has names of functions and files. */
  async *cpu(seconds: number, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    this.#begin();
    const session = new Session();
    try {
      session.connect();
      const post = promisify<string, object, { profile?: unknown }>(session.post.bind(session) as never);
      await post('Profiler.enable', {});
      await post('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US });
      await post('Profiler.start', {});
      await delay(seconds * 1000, signal);
      const { profile } = await post('Profiler.stop', {});
      const text = JSON.stringify(profile);
      for (let at = 0; at < text.length; at += PART_CHARS) yield text.slice(at, at + PART_CHARS);
    } finally {
      session.disconnect();
      this.#isBusy = false;
    }
  }

  /**
   * Yields the parts of a `.heapsnapshot`. It has all texts in memory, such as requests and keys. The process does
   * nothing else while V8 walks through the heap.
   */
  async *heap(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    this.#begin();
    try {
      requireMemory(getHeapStatistics().used_heap_size, process.availableMemory());
      const snapshot = getHeapSnapshot().setEncoding('utf8');
      const ended = signalWithin(READ_TIMEOUT_MS, signal);
      const onAbort = (): void => void snapshot.destroy(ended.reason as Error);
      ended.addEventListener('abort', onAbort, { once: true });
      try {
        ended.throwIfAborted();
        for await (const part of snapshot as AsyncIterable<string>) yield part;
      } finally {
        ended.removeEventListener('abort', onAbort);
        snapshot.destroy();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  #begin(): void {
    if (this.#isBusy)
      throw fail('ProfileRefused', 'another profile of this process is being made; try again when it is done');
    this.#isBusy = true;
  }
}

/** Throws `InsufficientResources` if a snapshot of a heap of `usedBytes` could use up the memory of the machine. */
export function requireMemory(usedBytes: number, availableBytes: number): void {
  const needed = usedBytes * SNAPSHOT_FACTOR;
  if (availableBytes >= needed) return;
  const mib = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  throw fail(
    'InsufficientResources',
    `a heap snapshot needs about ${mib(needed)} of memory, and ${mib(availableBytes)} are available`,
  );
}
