import { boundedEach } from './bounded-each.ts';

/** Runs `work` over the items like {@link boundedEach}. Returns what it gave, in the items' order. */
export async function boundedMap<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await boundedEach(items.entries(), Math.min(limit, items.length), signal, async ([at, item], ending) => {
    results[at] = await work(item, ending);
  });
  return results;
}
