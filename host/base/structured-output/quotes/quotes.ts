import { refuse } from '../refusal.ts';
import { firstPassages } from './first-passages.ts';
import { type Passage, QuoteSource, type Source } from './quote-source.ts';

/** Characters of all sources of a request. */
const MOST_CHARS = 2_000_000;

/** A quotation of an answer. */
export interface Quotation extends Passage {
  readonly text: string;
  /** The place of the source among those of the request. */
  readonly source: number;
}

export interface QuoteOptions {
  /** Fewest words of a quotation. */
  readonly minWords: number;
  /** Most words of a quotation. Default: any number. */
  readonly maxWords?: number | undefined;
  /** Whether the answer is JSON, in whose strings the quotations are. Otherwise the answer is one quotation. */
  readonly inJson: boolean;
}

/** The sources that an answer quotes. */
export class Quotes {
  readonly #sources: readonly QuoteSource[];
  readonly #options: QuoteOptions;

  /** Throws `UnusableStructure` for sources that are too long, and when none has enough words. */
  constructor(sources: readonly Source[], options: QuoteOptions) {
    const length = sources.reduce((sum, source) => sum + lengthOf(source), 0);
    if (length > MOST_CHARS) refuse('quote_of', `the sources have ${length} characters; at most ${MOST_CHARS} can be`);
    this.#sources = sources.map((source) => new QuoteSource(source));
    this.#options = options;
    const { minWords, maxWords = minWords } = options;
    if (maxWords < minWords) refuse('max_words', `it is less than min_words, ${minWords}`);
    if (!this.#sources.some((source) => source.hasWords(minWords)))
      refuse('quote_of', `no source has ${minWords} words, which a quotation needs at least`);
  }

  /** Returns the words of the sources as the engine takes them: each ends with a line feed. */
  quotable(): { readonly texts: readonly string[]; readonly minWords: number; readonly maxWords?: number } {
    const { inJson, minWords, maxWords } = this.#options;
    const texts = this.#sources.map(({ lines }) => (inJson ? lines.replace(/["\\]/g, '\\$&') : lines));
    return { texts, minWords, ...(maxWords !== undefined && { maxWords }) };
  }

  /**
   * Returns the quotations of an answer, in order: the texts in it that stand word for word in a source. One that was
   * cut is left out. Of equal passages, the first one of the first source counts.
   */
  in(answer: string): Quotation[] {
    const texts = this.#options.inJson ? stringsOf(answer) : [answer];
    const quotable = [...new Set(texts)].flatMap((text) => {
      const words = new QuoteSource(text);
      return words.is(text) && words.hasWords(this.#options.minWords) ? [{ text, words: [...words.words()] }] : [];
    });
    if (quotable.length === 0) return [];
    const passages = quotable.map(({ words }) => words);
    const ends = firstPassages(
      passages,
      this.#sources.map((source) => source.words()),
    );
    const told = new Map<string, Quotation>();
    for (const [n, { text }] of quotable.entries()) {
      const found = ends[n];
      if (!found) continue;
      const { text: source, end } = found;
      told.set(text, { text, ...this.#sources[source]!.passage(end - text.length, end), source });
    }
    return texts.flatMap((text) => told.get(text) ?? []);
  }
}

const lengthOf = (source: Source): number =>
  typeof source === 'string' ? source.length : source.reduce((sum, { text }) => sum + text.length, 0);

/** A string, and the colon behind it if it is the name of a property. */
const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

/** Returns the values of the strings in a JSON text, which may be cut. */
function stringsOf(json: string): string[] {
  return [...json.matchAll(STRING)].flatMap(([, literal, colon]) => {
    if (colon !== undefined) return [];
    try {
      return [JSON.parse(literal!) as string];
    } catch {
      return []; // the text is no JSON
    }
  });
}
