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

export interface EndingOptions {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Returns the reason when the time is up. */
  readonly timedOut: () => Error;
}

/** The end of work that has a deadline: by the signal, or when the time is up. Dispose of it after the work. */
export class Ending implements Disposable {
  /** Aborts when the work must end. */
  readonly signal: AbortSignal;
  /** When the time is up, on the clock of `performance.now()`. */
  readonly deadlineAt: number;
  readonly #ending = new AbortController(); // AbortSignal.any costs a few per cent of a small request
  readonly #timer: NodeJS.Timeout;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#ending.abort(this.#caller?.reason);

  /** Throws the reason of the signal if it has already aborted. */
  constructor({ signal, timeoutMs, timedOut }: EndingOptions) {
    signal?.throwIfAborted();
    this.signal = this.#ending.signal;
    this.#caller = signal;
    this.deadlineAt = performance.now() + timeoutMs;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#timer = setTimeout(() => this.#ending.abort(timedOut()), timeoutMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort); // signals outlive calls
  }
}

/** Runs `work` until its {@link Ending}. Rejects with the reason of the signal if it has already aborted. */
export async function withDeadline<T>(options: EndingOptions, work: (ending: Ending) => Promise<T>): Promise<T> {
  using ending = new Ending(options);
  return await work(ending);
}

/** Resolves after `ms`, or rejects with the reason of the signal. `holdsProcess`: whether the process waits for it. */
export function delay(ms: number, signal?: AbortSignal, holdsProcess = true): Promise<void> {
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
    if (!holdsProcess) timer.unref();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
