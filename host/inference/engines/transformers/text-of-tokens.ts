/** Returns the text of tokens without control tokens. */
export type Decode = (tokens: readonly number[]) => string;

/** A character whose bytes are not all there. */
const UNFINISHED = '\uFFFD';
/** Tokens after which a character counts as damaged. UTF-8 has at most four bytes. */
const LONGEST = 4;

/**
 * Makes text of tokens as they come. The text of a token may depend on the one before it, and a character may have
 * several tokens.
 */
export class TextOfTokens {
  readonly #decode: Decode;
  /** The tokens whose text is known, then those whose text is not. */
  #tokens: number[] = [];
  #known = 0;

  constructor(decode: Decode) {
    this.#decode = decode;
  }

  /** Returns the text that is known with this token and was not before. */
  add(token: number): string {
    this.#tokens.push(token);
    const text = this.#textOfNew();
    const waits = text.endsWith(UNFINISHED) && this.#tokens.length - this.#known < LONGEST;
    return waits ? '' : this.#take(text);
  }

  /** Returns the rest, with U+FFFD for a character that is not whole. */
  end(): string {
    return this.#take(this.#textOfNew());
  }

  #textOfNew(): string {
    const before = this.#decode(this.#tokens.slice(0, this.#known));
    return this.#decode(this.#tokens).slice(before.length);
  }

  #take(text: string): string {
    this.#tokens = this.#tokens.slice(this.#known);
    this.#known = this.#tokens.length;
    return text;
  }
}
