/**
 * Returns a function whose calls share one run of `work` and its result. After a failure, calls reject with it for
 * `failureMs`; the first call after that runs `work` again.
 */
export function remembered<T>(work: () => Promise<T>, failureMs: number): () => Promise<T> {
  let current: Promise<T> | undefined;
  let failedAt = Number.POSITIVE_INFINITY;
  return () => {
    if (!current || performance.now() - failedAt >= failureMs) {
      failedAt = Number.POSITIVE_INFINITY;
      current = work();
      current.catch(() => (failedAt = performance.now()));
    }
    return current;
  };
}
