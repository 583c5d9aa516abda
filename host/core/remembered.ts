/**
 * Calls share one run of `work` and its result. A failure is theirs for `failureMs`; the first call after that tries
 * again.
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
