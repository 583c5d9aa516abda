/**
 * Settles with `promise`, or rejects with the signal's reason as soon as it aborts. This does not stop the work itself.
 */
export async function raceAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  promise.catch(() => {}); // nothing else handles its rejection when the signal aborts first
  signal.throwIfAborted();
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort); // signals outlive calls
  }
}

/** The parts of each signal that {@link signalWithin} has returned. */
const partsOf = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * Returns a signal that aborts with the first of `signals`, and with a `TimeoutError` after `timeoutMs`. In Node 20
 * `AbortSignal.any` refers weakly to its parts, so a time limit that nobody else refers to is lost when garbage is
 * collected. Here the signal keeps it.
 */
export function signalWithin(timeoutMs: number, ...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const parts = [...signals, AbortSignal.timeout(timeoutMs)].filter((part) => part !== undefined);
  const signal = AbortSignal.any(parts);
  partsOf.set(signal, parts);
  return signal;
}

/** The end of work that has a deadline. */
export interface Ending {
  /** Aborts when the work must end. */
  readonly signal: AbortSignal;
  /** When the time is up, on the clock of `performance.now()`. */
  readonly deadlineAt: number;
}

/**
 * Runs `work` with a signal that aborts with the reason of `signal`, or with the error of `timedOut` after `timeoutMs`.
 * Rejects with the reason of `signal` if it has already aborted.
 */
export async function withDeadline<T>(
  { signal, timeoutMs, timedOut }: { signal: AbortSignal; timeoutMs: number; timedOut: () => Error },
  work: (ending: Ending) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ending = new AbortController(); // AbortSignal.any costs a few per cent of a small request
  const onAbort = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => ending.abort(timedOut()), timeoutMs);
  try {
    return await work({ signal: ending.signal, deadlineAt: performance.now() + timeoutMs });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort); // signals outlive calls
  }
}

/** Resolves after `ms`, or rejects with the reason of the signal. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const done = (): void => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    };
    const timer = setTimeout(done, ms);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
