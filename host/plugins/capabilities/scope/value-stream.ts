/** A deployment's stream of values as a guest reads it: in batches, as JSON. */
export class ValueStream {
  readonly #iterator: AsyncIterator<readonly unknown[]>;
  readonly #abort: AbortController;

  constructor(values: AsyncIterable<readonly unknown[]>, abort: AbortController) {
    this.#iterator = values[Symbol.asyncIterator]();
    this.#abort = abort;
  }

  /** All values made since the last call, at least one; empty at the end. */
  async next(): Promise<string[]> {
    return (await this.nextValues()).map((each) => JSON.stringify(each ?? null));
  }

  /** The same, not as JSON. */
  async nextValues(): Promise<readonly unknown[]> {
    for (;;) {
      const { done, value } = await this.#iterator.next();
      if (done) return [];
      if (value.length > 0) return value;
    }
  }

  /** Stops the deployment's work on it. */
  close(): void {
    this.#abort.abort();
    void Promise.resolve(this.#iterator.return?.()).catch(() => {}); // it ends by the abort; nobody waits for it
  }
}
