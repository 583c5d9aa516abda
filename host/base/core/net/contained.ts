/** A listener that never throws. `off` takes it, or its `listener`, as with a listener of `once`. */
export interface Contained<Args extends readonly unknown[]> {
  (...args: Args): void;
  listener: (...args: Args) => unknown;
}

/**
 * Returns a listener for an emitter. `onError` gets what `listener` throws, and what its promise rejects with, because
 * an error that leaves a listener ends the process.
 */
export function contained<Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
  onError: (error: unknown, ...args: Args) => void,
): Contained<Args> {
  const wrapped: Contained<Args> = (...args) => {
    try {
      const done = wrapped.listener(...args);
      if (done instanceof Promise) done.catch((error: unknown) => onError(error, ...args));
    } catch (error) {
      onError(error, ...args);
    }
  };
  wrapped.listener = listener;
  return wrapped;
}
