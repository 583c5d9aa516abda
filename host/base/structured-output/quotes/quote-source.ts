/** A part of a source with its times in seconds. */
export interface TimedText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A text, or parts of one in order. */
export type Source = string | readonly TimedText[];

/** Scripts that are written without spaces between words. */
const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`)
  .join('');
/** A character of these scripts with the marks and punctuation behind it, or what stands between white space. */
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*[^\\s\\p{Cc}\\p{L}\\p{N}\\p{M}]*|[^\\s\\p{Cc}${UNSPACED}]+`, 'gu');
const ENDS_UNSPACED = new RegExp(`[${UNSPACED}][\\p{M}\\p{P}]*$`, 'u');
const BEGINS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');

/** A passage of a source, with its times in seconds if the source has times. */
export interface Passage {
  readonly start?: number;
  readonly end?: number;
}

/** A source of quotations: its words, with white space as one space. */
export class QuoteSource {
  readonly #text: string;
  /** Of each word, in the text. */
  readonly #begins: number[] = [];
  readonly #ends: number[] = [];
  readonly #parts: readonly TimedText[] | undefined;
  /** The parts in which each word begins and ends. */
  readonly #firstParts: number[] = [];
  readonly #lastParts: number[] = [];

  constructor(source: Source) {
    this.#parts = typeof source === 'string' ? undefined : source;
    const { raw, begins } = typeof source === 'string' ? { raw: source, begins: [] } : joined(source);
    const pieces: string[] = [];
    let [length, behind, part] = [0, 0, 0];
    for (const { 0: word, index } of raw.matchAll(WORD)) {
      if (length > 0 && index > behind) length += pieces.push(' ') && 1;
      pieces.push(word);
      behind = index + word.length;
      this.#begins.push(length);
      length += word.length;
      this.#ends.push(length);
      if (!this.#parts) continue;
      while (part + 1 < begins.length && begins[part + 1]! <= index) part += 1;
      this.#firstParts.push(part);
      while (part + 1 < begins.length && begins[part + 1]! < behind) part += 1;
      this.#lastParts.push(part);
    }
    this.#text = pieces.join('');
  }

  get wordCount(): number {
    return this.#begins.length;
  }

  /** Returns the words, each with the space before it if there is one. */
  *words(): Generator<string> {
    for (const [index, end] of this.#ends.entries()) yield this.#text.slice(this.#ends[index - 1] ?? 0, end);
  }

  /** Returns the first passage that is this text and has so many whole words or more. */
  find(text: string, minWords: number): Passage | undefined {
    if (text === '') return undefined; // it would be found behind the end again and again
    for (let at = this.#text.indexOf(text); at >= 0; at = this.#text.indexOf(text, at + 1)) {
      const [first, last] = [placeOf(this.#begins, at), placeOf(this.#ends, at + text.length)];
      if (first < 0 || last < first + minWords - 1) continue;
      if (!this.#parts) return {};
      return { start: this.#parts[this.#firstParts[first]!]!.start, end: this.#parts[this.#lastParts[last]!]!.end };
    }
    return undefined;
  }
}

/** Joins the parts of a source. Between two parts stands white space, except in scripts that have none. */
function joined(parts: readonly TimedText[]): { readonly raw: string; readonly begins: readonly number[] } {
  const pieces: string[] = [];
  const begins: number[] = [];
  let length = 0;
  let before = '';
  for (const { text } of parts) {
    const isApart = before !== '' && !(ENDS_UNSPACED.test(before.slice(-8)) && BEGINS_UNSPACED.test(text));
    if (isApart) pieces.push(' ');
    length += isApart ? 1 : 0;
    begins.push(length);
    pieces.push(text);
    length += text.length;
    before = text;
  }
  return { raw: pieces.join(''), begins };
}

/** Returns the place of a number in an ascending list; -1 if it is not there. */
function placeOf(list: readonly number[], wanted: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return list[low] === wanted ? low : -1;
}
