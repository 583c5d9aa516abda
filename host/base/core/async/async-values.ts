// Async iterables whose return value is kept: a stream may end with a value, which `for await` drops.

/**
 * Calls `take` for each value and waits for it. Returns the return value of the iterable. Closes the iterable when
 * `take` throws.
 */
export async function drained<T, R>(values: AsyncIterable<T, R>, take: (value: T) => void | Promise<void>): Promise<R> {
  const iterator = values[Symbol.asyncIterator]();
  for (;;) {
    const step = await iterator.next();
    if (step.done) return step.value;
    try {
      const taken = take(step.value);
      if (taken) await taken; // streams with many values do not pay for a turn of the event loop each
    } catch (error) {
      await iterator.return?.();
      throw error;
    }
  }
}

/** Yields what `map` makes of each value. Returns the return value of the iterable. */
export async function* flatMapped<T, U, R>(
  values: AsyncIterable<T, R>,
  map: (value: T) => Iterable<U>,
): AsyncGenerator<U, R> {
  const iterator = values[Symbol.asyncIterator]();
  let mustClose = false;
  try {
    for (;;) {
      mustClose = false;
      const step = await iterator.next();
      if (step.done) return step.value;
      mustClose = true;
      yield* map(step.value);
    }
  } finally {
    if (mustClose) await iterator.return?.();
  }
}

/** Yields the values of each batch. Returns the return value of the iterable. */
export function flattened<T, R>(batches: AsyncIterable<Iterable<T>, R>): AsyncGenerator<T, R> {
  return flatMapped(batches, (batch) => batch);
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
