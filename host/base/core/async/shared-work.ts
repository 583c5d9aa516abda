import { raceAbort } from '../abort.ts';
import { cancelledError } from '../errors.ts';

/** The result of shared work, for one of those who hold it. */
export interface HeldResult<T> extends AsyncDisposable {
  readonly result: T;
}

export interface SharedWorkOptions<T> {
  /** Gets a signal that aborts when nobody waits for the result any more. */
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** Removes a result that nobody holds any more. */
  readonly remove: (result: T) => Promise<void>;
  /** Called once, when no further holder may come: the work has ended, or nobody waits for it any more. */
  readonly onClosed: () => void;
}

/** Work that begins at once, and whose result several callers hold. The leaving of one does not concern the others. */
export class SharedWork<T> {
  readonly #options: SharedWorkOptions<T>;
  readonly #unwanted = new AbortController();
  readonly #result: Promise<T>;
  #holders = 0;
  #isClosed = false;

  constructor(options: SharedWorkOptions<T>) {
    this.#options = options;
    this.#result = options.work(this.#unwanted.signal);
    this.#result.then(
      () => this.#close(),
      () => this.#close(),
    );
  }

  /**
   * Waits for the result and holds it until it is disposed. Rejects with the error of the work, or with the reason of
   * the signal; then, if nobody else waits, after the work has ended. Must not be called after `onClosed`.
   */
  async hold(signal: AbortSignal | undefined): Promise<HeldResult<T>> {
    this.#holders += 1;
    let isHeld = true;
    const leave = async (): Promise<void> => {
      if (!isHeld) return;
      isHeld = false;
      await this.#leave();
    };
    try {
      return { result: await raceAbort(this.#result, signal), [Symbol.asyncDispose]: leave };
    } catch (error) {
      await leave();
      throw error;
    }
  }

  async #leave(): Promise<void> {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#close();
    this.#unwanted.abort(cancelledError('nobody waits for the result any more'));
    const ended = await this.#result.then(
      (result) => ({ result }),
      () => undefined,
    );
    if (ended) await this.#options.remove(ended.result);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.onClosed();
  }
}
