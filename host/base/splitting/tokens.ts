import { Turns } from './turns.ts';

/** Returns the number of tokens of a text, which is not empty. */
export type TokenCounter = (text: string) => number | Promise<number>;

/** Estimates tokens as a quarter of the bytes in UTF-8: about right for English, too few for most other languages. */
export function estimatedTokens(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return Math.ceil(bytes / 4);
}

/** A chunk has at most so many characters for each token, because some models count a text without spaces as one. */
export const CHARACTERS_PER_TOKEN = 16;

/**
 * Returns a counter that throws `TypeError` when the given one returns no number, and sees at least one token in
 * {@link CHARACTERS_PER_TOKEN} characters. Other work goes on between its calls.
 */
export function checkedCounter(count: TokenCounter): TokenCounter {
  const turns = new Turns();
  return async (text) => {
    await turns.after(text.length);
    const tokens = await count(text);
    if (typeof tokens === 'number' && tokens >= 0)
      return Math.max(tokens, Math.ceil(text.length / CHARACTERS_PER_TOKEN));
    throw new TypeError(`countTokens must return the number of tokens, not ${String(tokens)}`);
  };
}

/** Throws `RangeError` unless an option is an integer in this range. */
export function checkOption(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`${name} must be an integer from ${least} to ${most}, not ${String(value)}`);
}

/** Fewer tokens may be too few for one character and the tokens that a model puts around each text. */
export const LEAST_TOKENS = 16;
export const MOST_TOKENS = 1_000_000;
/** Most tokens of a chunk unless it is said. */
export const DEFAULT_TOKENS = 800;
