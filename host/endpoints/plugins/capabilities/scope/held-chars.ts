import { fail } from '../../../../base/core/errors.ts';

const leastLimit = 4 * 1024 * 1024;
/** The number of invocations of a plugin that may hold the maximum at the same time. */
const fullInvocations = 4;

/**
 * Returns the maximum characters that the host holds for guests, such as inputs and results of helpers. For one
 * invocation it is the
 * number of bytes that an answer may have.
 */
export function heldCharsLimits({ outputBytes }: { readonly outputBytes: number }): {
  readonly invocation: number;
  readonly plugin: number;
} {
  const invocation = Math.max(leastLimit, outputBytes);
  return { invocation, plugin: fullInvocations * invocation };
}

/** Counts characters that the host holds for guests, because they could fill its memory. */
export class HeldChars {
  readonly #limit: number;
  readonly #all: HeldChars | undefined;
  #chars = 0;

  /** @param all a counter that counts these characters as well. */
  constructor(limit: number, all?: HeldChars) {
    this.#limit = limit;
    this.#all = all;
  }

  /** Counts characters. Throws `HeldTooMuch`, without counting, when they are over the limit. */
  take(chars: number): void {
    if (this.#chars + chars > this.#limit) {
      throw fail(
        'HeldTooMuch',
        `the inputs and results of helpers, the answers of started calls, the pieces of files that are read and the ` +
          `files of frames have more than ${this.#limit} characters in all: drop helpers that have ended and frames ` +
          `that were used, and take answers`,
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
