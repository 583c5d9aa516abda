/** What is known of an answer after a piece of its text. */
export interface Released {
  /** Text that is part of the answer. */
  readonly text: string;
  /** The text that ended the answer. */
  readonly stop?: string;
}

/** Finds the texts before which an answer ends. Holds back what may be the beginning of one. */
export class StopTexts {
  readonly #stops: readonly string[];
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Adds a piece. Nothing may be added after a stop. */
  add(piece: string): Released {
    const text = this.#held + piece;
    const found = this.#stops
      .map((stop) => ({ stop, at: text.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .toSorted((a, b) => a.at - b.at || b.stop.length - a.stop.length)[0];
    if (found) return { text: text.slice(0, found.at), stop: found.stop };
    const held = Math.max(0, ...this.#stops.map((stop) => lengthOfBeginning(text, stop)));
    this.#held = text.slice(text.length - held);
    return { text: text.slice(0, text.length - held) };
  }

  /** Returns what was held back, at the end of the answer. */
  rest(): string {
    return this.#held;
  }
}

/** Returns how many characters at the end of `text` are the beginning of `stop`. */
function lengthOfBeginning(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length -= 1)
    if (text.endsWith(stop.slice(0, length))) return length;
  return 0;
}
