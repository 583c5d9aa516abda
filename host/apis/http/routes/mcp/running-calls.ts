/**
 * The running calls of clients of the protocol before 2026. Such a client cancels a call with another request, which
 * names the call. Later clients close the connection.
 */
export class RunningCalls {
  readonly #calls = new Map<string, AbortController>();

  /** Adds a call under the names of its client and its request. Dispose the result when the call has ended. */
  add(names: CallNames, call: AbortController): Disposable {
    const key = keyOf(names);
    this.#calls.set(key, call);
    return {
      [Symbol.dispose]: () => {
        if (this.#calls.get(key) === call) this.#calls.delete(key);
      },
    };
  }

  /** Aborts a call. Does nothing if it has ended, or runs on another host. */
  cancel(names: CallNames, reason: unknown): void {
    this.#calls.get(keyOf(names))?.abort(reason);
  }
}

export interface CallNames {
  /** The API key; null if keys are off. */
  readonly keyId: string | null;
  /** The name that the client got when it connected. */
  readonly session: string;
  /** The id that the client gave to its request. */
  readonly id: string | number;
}

const keyOf = ({ keyId, session, id }: CallNames): string => JSON.stringify([keyId, session, id]);
