import { charactersOf } from '../transcripts/lines.ts';

/**
 * Where a text is best divided: between paragraphs, else lines, sentences and words. Each pattern matches before the
 * white space, or where there is none. They look back and ahead by a bounded number of characters or over white space.
 */
const BORDERS: readonly RegExp[] = [
  /\r?\n(?=[^\S\n]*\n)/g,
  /\r?\n/g,
  /(?<=[\p{STerm}…][\p{Pe}\p{Pf}"']{0,4})(?=\s)|(?<=[。！？｡][\p{Pe}\p{Pf}]{0,4})(?![\p{Po}\p{Pe}\p{Pf}])/gu,
  /\s+/g,
];

/** Places in a text. A border lies between two characters: it is the index of the second one. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** Returns the last of the best borders from `low` to `high`. */
export function lastBorder(text: string, { low, high }: Range): number | undefined {
  return bestBorders(text, { low, high }).at(-1);
}

/** Returns the first of the best borders from `low` to `high`. */
export function firstBorder(text: string, { low, high }: Range): number | undefined {
  return bestBorders(text, { low, high })[0];
}

function bestBorders(text: string, { low, high }: Range): number[] {
  // One character more at both ends, because a border is known by its neighbours.
  const from = Math.max(0, low - 1);
  const part = text.slice(from, high + 1);
  for (const pattern of BORDERS) {
    const borders = [...part.matchAll(pattern)].map(({ index }) => from + index);
    const inside = borders.filter((at) => at >= low && at <= high);
    if (inside.length > 0) return inside;
  }
  return [];
}

/** Returns the borders of characters as readers count them from `low` to `high`. @param from a border before them */
export function characterBorders(text: string, from: number, { low, high }: Range): number[] {
  const borders: number[] = [];
  let at = from;
  // What is behind `high` may belong to the character before it: a joiner with one code point is three units long.
  for (const character of charactersOf(text.slice(from, wholeCharacters(text, high + 4)))) {
    if (at >= low && at <= high) borders.push(at);
    at += character.length;
  }
  if (at === text.length && at >= low && at <= high) borders.push(at);
  return borders;
}

/** Returns the index, or the one before it if it lies inside of a code point. */
export function wholeCharacters(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
