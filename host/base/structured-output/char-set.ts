/** Ranges of code points, ascending and apart, both ends included. Surrogates are no characters. */
export type CharSet = readonly (readonly [first: number, last: number])[];

const LAST = 0x10ffff;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

export const NOTHING: CharSet = [];
/** All characters but U+0000, which no text of a model has. */
export const ANYTHING: CharSet = [
  [1, FIRST_SURROGATE - 1],
  [LAST_SURROGATE + 1, LAST],
];

/** Returns the characters of all sets. */
export function union(...sets: readonly CharSet[]): CharSet {
  const joined: [number, number][] = [];
  for (const [first, last] of sets.flat().toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** Returns the characters of `set` that are not in `others`. */
export function without(set: CharSet, others: CharSet): CharSet {
  let left = set;
  for (const [first, last] of others) {
    left = left.flatMap(([from, to]) => {
      const parts: [number, number][] = [];
      if (from < first) parts.push([from, Math.min(to, first - 1)]);
      if (to > last) parts.push([Math.max(from, last + 1), to]);
      return parts;
    });
  }
  return left;
}

export const complement = (set: CharSet): CharSet => without(ANYTHING, set);
export const common = (a: CharSet, b: CharSet): CharSet => without(a, complement(b));
export const has = (set: CharSet, point: number): boolean =>
  set.some(([first, last]) => first <= point && point <= last);
export const one = (point: number): CharSet => [[point, point]];

/** Returns the characters of a text. */
export const charsOf = (text: string): CharSet => union(...Array.from(text, (char) => one(char.codePointAt(0)!)));
