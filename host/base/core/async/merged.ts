import { AsyncQueue } from './async-queue.ts';

/**
 * Yields the values of several iterables as they come, each with the number of its iterable. No iterable is ahead of
 * the reader by more than one value. Returns the return values. Throws the first error. When it ends early, it closes
 * the iterables without waiting for them, because some wait for a value that only a signal stops.
 */
export async function* merged<T, R>(
  iterables: readonly AsyncIterable<T, R>[],
): AsyncGenerator<readonly [index: number, value: T], R[]> {
  const iterators = iterables.map((iterable) => iterable[Symbol.asyncIterator]());
  const open = new Set(iterators.keys());
  const steps = new AsyncQueue<readonly [number, IteratorResult<T, R>]>();
  const advance = (index: number): void =>
    void iterators[index]?.next().then(
      (step) => steps.push([index, step]),
      (error: unknown) => {
        open.delete(index);
        steps.fail(error);
      },
    );
  const results: R[] = [];
  if (iterators.length === 0) return results;
  for (const index of iterators.keys()) advance(index);
  try {
    for await (const [index, step] of steps) {
      if (!step.done) {
        yield [index, step.value];
        advance(index);
        continue;
      }
      results[index] = step.value;
      open.delete(index);
      if (open.size === 0) break;
    }
    return results;
  } finally {
    for (const index of open) void Promise.resolve(iterators[index]?.return?.()).catch(() => {});
  }
}
