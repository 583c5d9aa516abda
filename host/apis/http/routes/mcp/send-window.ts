import { raceAbort } from '../../../../base/core/abort.ts';

/** Messages that may wait for a client that reads slowly. */
const MOST_WAITING = 64;

/** Lets a run wait for its client, because the SDK keeps every message that the client has not read. */
export class SendWindow {
  readonly #signal: AbortSignal;
  #waiting = 0;
  #onRoom: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Counts a message. Resolves when there is room for another one. Rejects with the reason of the signal. */
  async add(): Promise<void> {
    this.#waiting += 1;
    if (this.#waiting < MOST_WAITING) return;
    await raceAbort(new Promise<void>((resolve) => (this.#onRoom = resolve)), this.#signal);
  }

  /** Called when the connection has taken a part of the stream: a message, or a sign of life. */
  taken(): void {
    this.#waiting = Math.max(0, this.#waiting - 1);
    this.#onRoom?.();
    this.#onRoom = undefined;
  }
}
