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
  /** Where each word ends in the text. */
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
    return this.#ends.length;
  }

  /** Returns the words, each with the space before it if there is one. */
  *words(): Generator<string> {
    for (const [index, end] of this.#ends.entries()) yield this.#text.slice(this.#ends[index - 1] ?? 0, end);
  }

  /** Whether a text has these words, with no other white space. */
  is(text: string): boolean {
    return this.#text === text;
  }

  /** Returns the passage from one word to another one. */
  passage(firstWord: number, lastWord: number): Passage {
    if (!this.#parts) return {};
    const [first, last] = [this.#firstParts[firstWord]!, this.#lastParts[lastWord]!];
    return { start: this.#parts[first]!.start, end: this.#parts[last]!.end };
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
