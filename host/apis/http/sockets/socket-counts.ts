import { fail } from '../../../base/core/errors.ts';

export interface SocketCountLimits {
  readonly max_sockets: number;
  readonly max_sockets_per_caller: number;
}

/** Counts the open sockets of the server and of each caller. */
export class SocketCounts {
  readonly #limits: SocketCountLimits;
  readonly #byCaller = new Map<string, number>();
  #total = 0;

  constructor(limits: SocketCountLimits) {
    this.#limits = limits;
  }

  /** Counts a socket, and returns a function to call when it has ended. Throws `TooManySockets` or `SocketsFull`. */
  take(caller: string): () => void {
    const { max_sockets: most, max_sockets_per_caller: mostOfCaller } = this.#limits;
    const ofCaller = this.#byCaller.get(caller) ?? 0;
    if (ofCaller >= mostOfCaller)
      throw fail(
        'TooManySockets',
        `a caller may have ${mostOfCaller} open WebSockets (sockets.max_sockets_per_caller): close one first`,
      );
    if (this.#total >= most)
      throw fail('SocketsFull', `the server has as many WebSockets as it may have, ${most} (sockets.max_sockets)`);
    this.#total += 1;
    this.#byCaller.set(caller, ofCaller + 1);
    return () => this.#giveBack(caller);
  }

  #giveBack(caller: string): void {
    this.#total -= 1;
    const left = (this.#byCaller.get(caller) ?? 1) - 1;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}
