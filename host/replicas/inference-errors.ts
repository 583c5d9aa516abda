/** Counts the calls of one replica between two health checks. A replica most of whose calls fail in the engine is not healthy, although it answers. */
export class InferenceErrors {
  #calls = 0;
  #failed = 0;
  #lastMessage = '';

  /** A call came to its end. Only failures of the engine count; what a caller did wrong does not. */
  record(error?: unknown): void {
    this.#calls += 1;
    if (!(error instanceof Error) || error.name !== 'InferenceException') return;
    this.#failed += 1;
    this.#lastMessage = error.message;
  }

  /** Why the replica is to be replaced: more than half of the calls since the last check failed. The counts start anew. */
  check(): string | undefined {
    const [calls, failed] = [this.#calls, this.#failed];
    this.#calls = 0;
    this.#failed = 0;
    return failed * 2 > calls ? `${failed} of its last ${calls} calls failed in the engine: ${this.#lastMessage}` : undefined;
  }
}
