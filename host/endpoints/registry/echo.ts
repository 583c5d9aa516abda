/** Most characters of a client's value that an error repeats whole. */
const MOST_CHARACTERS = 1000;
const SHOWN_CHARACTERS = 200;

/**
 * Returns a value of an input as an error shows it to the client that sent it: a small value whole, else the beginning
 * of its JSON.
 */
export function echoed(value: unknown): unknown {
  if (charactersOf(value, MOST_CHARACTERS) <= MOST_CHARACTERS) return value;
  const text = typeof value === 'string' ? value : beginningOf(value);
  return `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

/** Returns the approximate length of the JSON of a value. Stops counting above `most`. */
function charactersOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let sum = 2;
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    sum += key.length + 4 + charactersOf((value as Record<string, unknown>)[key], most - sum);
    if (sum > most) break;
  }
  return sum;
}

/** Returns the first characters of the JSON of a value, without making all of it. */
function beginningOf(value: unknown): string {
  let left = SHOWN_CHARACTERS;
  return JSON.stringify(value, (_, inner: unknown) => {
    left -= 8;
    if (left < 0) return undefined;
    return typeof inner === 'string' ? inner.slice(0, SHOWN_CHARACTERS) : inner;
  });
}
