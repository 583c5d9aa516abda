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
/** White space and controls that are not one space. */
const WHITE_SPACE = /(?! (?![\s\p{Cc}]))[\s\p{Cc}]+/gu;
/** A character of these scripts with the marks and punctuation behind it, or what stands between spaces. */
const WORD = new RegExp(` ?(?:[${UNSPACED}]\\p{M}*[^ \\p{L}\\p{N}\\p{M}]*|[^ ${UNSPACED}]+)`, 'gu');
const ENDS_UNSPACED = new RegExp(`[${UNSPACED}][\\p{M}\\p{P}]*$`, 'u');
const BEGINS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');

/** A passage of a source, with its times in seconds if the source has times. */
export interface Passage {
  readonly start?: number;
  readonly end?: number;
}

/** A source of quotations: its words, with white space as one space. */
export class QuoteSource {
  /** The words, each with the space before it if there is one, and a line feed behind it. */
  readonly lines: string;
  readonly #parts: readonly TimedText[] | undefined;
  /** Where each part begins in the text. */
  readonly #begins: readonly number[];

  constructor(source: Source) {
    this.#parts = typeof source === 'string' ? undefined : source;
    const { text, begins } = joined(typeof source === 'string' ? [{ text: source }] : source);
    this.lines = text.replace(WORD, '$&\n');
    this.#begins = begins;
  }

  /** Returns the words, each with the space before it if there is one. */
  *words(): Generator<string> {
    for (let begin = 0, end; (end = this.lines.indexOf('\n', begin)) >= 0; begin = end + 1)
      yield this.lines.slice(begin, end);
  }

  hasWords(count: number): boolean {
    let end = -1;
    for (let n = 0; n < count; n += 1) {
      end = this.lines.indexOf('\n', end + 1);
      if (end < 0) return false;
    }
    return true;
  }

  /** Whether a text has these words, with no other white space. */
  is(text: string): boolean {
    return this.lines.replaceAll('\n', '') === text;
  }

  /** Returns the passage between two places in the text. */
  passage(begin: number, end: number): Passage {
    if (!this.#parts) return {};
    return { start: this.#partAt(begin).start, end: this.#partAt(end - 1).end };
  }

  #partAt(place: number): TimedText {
    let [first, behind] = [0, this.#begins.length];
    while (behind - first > 1) {
      const middle = (first + behind) >> 1;
      if (this.#begins[middle]! <= place) first = middle;
      else behind = middle;
    }
    return this.#parts![first]!;
  }
}

/** Joins the parts of a source. Between two parts stands a space, except in scripts that have none. */
function joined(parts: readonly { readonly text: string }[]): {
  readonly text: string;
  readonly begins: readonly number[];
} {
  const pieces: string[] = [];
  const begins: number[] = [];
  let length = 0;
  let before = '';
  for (const part of parts) {
    const spaced = part.text.replace(WHITE_SPACE, ' ');
    const text = spaced.trim();
    const isApart = !(ENDS_UNSPACED.test(before.slice(-8)) && BEGINS_UNSPACED.test(spaced));
    if (text !== '' && length > 0 && isApart) length += pieces.push(' ') && 1;
    begins.push(length);
    pieces.push(text);
    length += text.length;
    if (spaced !== '') before = spaced;
  }
  return { text: pieces.join(''), begins };
}
