/** Node, browsers and plugins have it. */
declare function setTimeout(call: () => void): unknown;

/** Characters that are read at once, which takes some milliseconds. */
export const TURN_LENGTH = 131_072;

/** Divides long work into turns, between which the process does other work. */
export class Turns {
  #left = TURN_LENGTH;

  /** Called after each part of the work, with the characters that it has read. */
  async after(length: number): Promise<void> {
    this.#left -= length;
    if (this.#left > 0) return;
    this.#left = TURN_LENGTH;
    await new Promise<void>((resolve) => setTimeout(resolve));
  }
}
