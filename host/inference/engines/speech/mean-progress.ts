/**
 * Returns a function that takes the progress (0 to 1) of each of `count` equal parts by its index, and reports the
 * progress of the whole. Undefined when nobody asks for it.
 */
export function meanProgress(
  count: number,
  report: ((fraction: number) => void) | undefined,
): ((index: number, fraction: number) => void) | undefined {
  if (!report) return undefined;
  const done = Array.from({ length: count }, () => 0);
  return (index, fraction) => {
    done[index] = fraction;
    report(done.reduce((sum, part) => sum + part, 0) / count);
  };
}
