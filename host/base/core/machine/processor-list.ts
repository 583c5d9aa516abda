/** The largest number of a processor that Linux can be built for. */
const MAX_PROCESSOR = 8191;

/**
 * Returns the numbers of a list in the form of Linux, such as `0-3,8`, sorted and each once; undefined when the text is
 * no such list.
 */
export function parseProcessorList(text: string): number[] | undefined {
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const [, first, last = first] = /^\s*(\d{1,4})(?:-(\d{1,4}))?\s*$/.exec(part) ?? [];
    const [from, to] = [Number(first ?? Number.NaN), Number(last ?? Number.NaN)];
    if (!(from <= to && to <= MAX_PROCESSOR)) return undefined;
    for (let id = from; id <= to; id += 1) found.add(id);
  }
  return [...found].toSorted((a, b) => a - b);
}

/** Returns the list in the form of Linux. */
export function processorListText(ids: readonly number[]): string {
  const runs: (readonly [first: number, last: number])[] = [];
  for (const id of ids.toSorted((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run?.[1] === id - 1) runs[runs.length - 1] = [run[0], id];
    else runs.push([id, id]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}
