/** A stream of a deployment, read by a guest in batches of JSON. */
export class ValueStream {
  readonly #iterator: AsyncIterator<readonly unknown[], unknown>;
  readonly #abort: AbortController;
  #returned: unknown;
  #hasEnded = false;

  constructor(values: AsyncIterable<readonly unknown[], unknown>, abort: AbortController) {
    this.#iterator = values[Symbol.asyncIterator]();
    this.#abort = abort;
  }

  /** The value that the method returned after its last one. Undefined until the stream was read to its end. */
  get returned(): unknown {
    return this.#returned;
  }

  /** Whether the stream was read to its end. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Returns all values since the last call, at least one, as JSON. Returns an empty list at the end. */
  async next(): Promise<string[]> {
    return (await this.nextValues()).map((each) => JSON.stringify(each ?? null));
  }

  /** Returns the same values as objects. */
  async nextValues(): Promise<readonly unknown[]> {
    for (;;) {
      const { done, value } = await this.#iterator.next();
      if (done) {
        this.#returned ??= value;
        this.#hasEnded = true;
        return [];
      }
      if (value.length > 0) return value;
    }
  }

  /** Stops the stream in the deployment. */
  close(): void {
    this.#abort.abort();
    void Promise.resolve(this.#iterator.return?.()).catch(() => {}); // the abort ends it, and nobody waits
  }
}
