import { AanaError } from '../../../core/errors.ts';

const leastLimit = 4 * 1024 * 1024;
/** Invocations of a plugin that may hold as much as they can. */
const fullInvocations = 4;

/**
 * Most characters of inputs and results of helpers that the host holds: for one invocation as many as an answer may
 * have bytes.
 */
export function heldCharsLimits({ outputBytes }: { readonly outputBytes: number }): {
  readonly invocation: number;
  readonly plugin: number;
} {
  const invocation = Math.max(leastLimit, outputBytes);
  return { invocation, plugin: fullInvocations * invocation };
}

/** Counts characters that the host holds for guests, which would otherwise fill its memory. */
export class HeldChars {
  readonly #limit: number;
  readonly #all: HeldChars | undefined;
  #chars = 0;

  /** @param all where what is held here counts, too. */
  constructor(limit: number, all?: HeldChars) {
    this.#limit = limit;
    this.#all = all;
  }

  /** Throws `HeldTooMuch`, and counts nothing, when it is too much. */
  take(chars: number): void {
    if (this.#chars + chars > this.#limit) {
      throw new AanaError(
        'HeldTooMuch',
        'too-large',
        `inputs and results of helpers that are not dropped have more than ${this.#limit} characters in all`,
        { data: { limit: this.#limit } },
      );
    }
    this.#all?.take(chars);
    this.#chars += chars;
  }

  give(chars: number): void {
    this.#chars -= chars;
    this.#all?.give(chars);
  }
}
