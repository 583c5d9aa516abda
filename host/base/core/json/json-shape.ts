/** The size of a JSON text, without its values. */
export interface JsonShape {
  /** The largest number of brackets that are open at once. */
  readonly depth: number;
  /** The number of opening brackets and commas. It is at least the number of values inside of objects and arrays. */
  readonly elements: number;
  /** How many of the elements are numbers in arrays. */
  readonly numbers: number;
  /** Characters of the texts under `largeKeys`. */
  readonly largeChars: number;
}

const NO_KEYS: ReadonlySet<string> = new Set();

/** Where a count ends. */
export interface MostOfJson {
  readonly chars?: number | undefined;
  readonly depth?: number | undefined;
  readonly elements?: number | undefined;
}

/**
 * Counts the brackets, commas and numbers of a text outside of strings, in time linear in its length. A text that is
 * not JSON has a shape, too. `largeKeys` are keys of objects whose texts are counted in `largeChars`. The count ends
 * above one of `most`, of which `chars` are other characters.
 */
export function jsonShape(text: string, largeKeys = NO_KEYS, most: MostOfJson = {}): JsonShape {
  const { chars = Infinity, depth: mostDepth = Infinity, elements: mostElements = Infinity } = most;
  let depth = 0;
  let deepest = 0;
  let elements = 0;
  let numbers = 0;
  let largeChars = 0;
  /** The last string. Before a colon it is a key. */
  let stringStart = 0;
  let stringEnd = 0;
  for (let i = 0; i < text.length && i - largeChars <= chars; i++) {
    if (deepest > mostDepth || elements > mostElements) break;
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      stringStart = i;
      i = endOfString(text, i);
      stringEnd = i;
    } else if (c === 0x2c) {
      elements++;
      if (isNumberAt(text, i + 1)) numbers++;
    } else if (c === 0x7b || c === 0x5b) {
      elements++;
      if (++depth > deepest) deepest = depth;
      if (c === 0x5b && isNumberAt(text, i + 1)) numbers++;
    } else if (c === 0x7d || c === 0x5d) {
      depth--;
    } else if (c === 0x3a && largeKeys.size > 0 && largeKeys.has(text.slice(stringStart + 1, stringEnd))) {
      const start = afterSpace(text, i + 1);
      if (text.charCodeAt(start) !== 0x22) continue;
      i = endOfString(text, start);
      largeChars += i - start - 1;
    }
  }
  return { depth: deepest, elements, numbers, largeChars };
}

/** Returns whether the value at `i` is a number. After a comma in an object there is a key. */
function isNumberAt(text: string, i: number): boolean {
  const c = text.charCodeAt(afterSpace(text, i));
  return (c >= 0x30 && c <= 0x39) || c === 0x2d;
}

function afterSpace(text: string, start: number): number {
  let i = start;
  for (let c = text.charCodeAt(i); c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09; c = text.charCodeAt(i)) i++;
  return i;
}

/** Returns the index of the quote that ends the string begun at `start`; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (text.charCodeAt(quote - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return quote;
  }
  return text.length;
}
