/** The size of a JSON text, without its values. */
export interface JsonShape {
  /** The largest number of brackets that are open at once. */
  readonly depth: number;
  /** The number of opening brackets and commas. It is at least the number of values inside of objects and arrays. */
  readonly elements: number;
}

/**
 * Counts the brackets and commas of a text outside of strings, in time linear in its length. A text that is not JSON
 * has a shape, too.
 */
export function jsonShape(text: string): JsonShape {
  let depth = 0;
  let deepest = 0;
  let elements = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      i = endOfString(text, i);
    } else if (c === 0x2c) {
      elements++;
    } else if (c === 0x7b || c === 0x5b) {
      elements++;
      if (++depth > deepest) deepest = depth;
    } else if (c === 0x7d || c === 0x5d) {
      depth--;
    }
  }
  return { depth: deepest, elements };
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
