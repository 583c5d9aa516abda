/** A part with this share of the limit is long enough. */
const FULL = 0.95;
/** Attempts with an estimated length. After them, the range of lengths is halved. */
const ESTIMATES = 6;

/**
 * Returns a length, from 0 to `most`, whose part has at most `limit` tokens, and nearly the longest one. Parts are
 * counted as rarely as possible, because counting may be a call to a model: two or three times as a rule.
 * @param guess the length to begin with
 * @param count returns the tokens of the part of a length, from 1 to `most`
 */
export async function longestFit(
  most: number,
  limit: number,
  guess: number,
  count: (length: number) => number | Promise<number>,
): Promise<number> {
  let [fits, over] = [0, most + 1];
  let length = guess;
  for (let attempt = 0; over - fits > 1; attempt += 1) {
    length = attempt < ESTIMATES ? Math.min(over - 1, Math.max(fits + 1, length)) : Math.floor((fits + over) / 2);
    const tokens = await count(length);
    if (tokens > limit) over = length;
    else fits = length;
    if (tokens <= limit && tokens >= FULL * limit) break;
    length = Math.floor((length * limit * (1 + FULL)) / 2 / Math.max(tokens, 1));
  }
  return fits;
}
