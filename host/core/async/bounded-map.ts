/**
 * Runs `work` over the items, at most `limit` at a time and in their order; returns what they gave, in the items'
 * order. When one fails, or `signal` is aborted, the signal of the others is aborted, no further one begins, and the
 * first error is thrown.
 */
export async function boundedMap<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failed = new AbortController();
  const all = AbortSignal.any([signal, failed.signal]);
  const results: Result[] = [];
  let next = 0;
  const runner = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      all.throwIfAborted();
      results[at] = await work(items[at] as Item, all);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runner));
    return results;
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}
