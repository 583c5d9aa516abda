/**
 * Runs `work` over the items, at most `limit` at a time and in their order. An item is read when its work begins. When
 * one fails, or `signal` is aborted, the signal of the others is aborted, no further one begins, and the first error is
 * thrown after all have ended.
 */
export async function boundedEach<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const all = AbortSignal.any([signal, failed.signal]);
  const source = readable(items);
  const runner = async (): Promise<void> => {
    try {
      for (let next = await source.next(); !next.done; next = await source.next()) {
        all.throwIfAborted();
        await work(next.value, all);
      }
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: limit }, runner));
  await source.return();
  signal.throwIfAborted();
  if (outcomes.some(({ status }) => status === 'rejected')) throw failed.signal.reason;
}

/** A generator, because its `next` may be called again before the call before it has ended. */
async function* readable<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item, void> {
  yield* items;
}
