import { characterBorders, firstBorder, lastBorder, wholeCharacters } from './borders.ts';
import { longestFit } from './longest-fit.ts';
import { type Section, sectionsOf } from './sections.ts';
import {
  CHARACTERS_PER_TOKEN,
  checkedCounter,
  checkOption,
  DEFAULT_TOKENS,
  estimatedTokens,
  LEAST_TOKENS,
  MOST_TOKENS,
  type TokenCounter,
} from './tokens.ts';
import { TURN_LENGTH, Turns } from './turns.ts';

export interface SplitTextOptions {
  /** Most tokens of a chunk, from 16 to 1,000,000. Default: 800. */
  readonly maxTokens?: number | undefined;
  /** Most tokens that a chunk repeats of the one before it, from 0 to half of `maxTokens`. Default: that half. */
  readonly overlapTokens?: number | undefined;
  /**
   * Counts the tokens of a text, as a deployment does with `count_tokens`. It is called some times for each chunk.
   * Default: an estimate, a quarter of the bytes in UTF-8.
   */
  readonly countTokens?: TokenCounter | undefined;
  /** With `markdown`, no chunk has text of two sections, and each chunk has its headings. Default: `text`. */
  readonly kind?: 'text' | 'markdown' | undefined;
}

/** A part of a text, without white space at its ends. */
export interface DocumentChunk {
  /** The text from `start` up to `end`. It is not empty. */
  readonly text: string;
  /** Place of its first character in the text, as an index of the string. */
  readonly start: number;
  /** Place behind its last character. */
  readonly end: number;
  /** The headings above it, from the outermost one. Empty if the kind is `text`. */
  readonly headings: readonly string[];
}

/**
 * Divides a text into chunks of at most `maxTokens`, in their order. They end between paragraphs, else between lines,
 * sentences, words and characters. Only white space is in none of them. Other work goes on meanwhile. Throws
 * `RangeError` for options out of their range, and `TypeError` if `countTokens` returns no number.
 */
export async function splitText(text: string, options: SplitTextOptions = {}): Promise<DocumentChunk[]> {
  const { maxTokens = DEFAULT_TOKENS, countTokens = estimatedTokens, kind = 'text' } = options;
  if (typeof text !== 'string') throw new TypeError(`the text must be a string, not ${typeof text}`);
  if (kind !== 'text' && kind !== 'markdown')
    throw new RangeError(`kind must be text or markdown, not ${String(kind)}`);
  checkOption('maxTokens', maxTokens, LEAST_TOKENS, MOST_TOKENS);
  const half = Math.floor(maxTokens / 2);
  const { overlapTokens = half } = options;
  checkOption('overlapTokens', overlapTokens, 0, half);
  const turns = new Turns();
  const splitter = new Splitter(text, { maxTokens, overlapTokens, count: checkedCounter(countTokens) });
  const sections = kind === 'markdown' ? sectionsOf(text) : [{ start: 0, end: text.length, headings: [] }];
  for (const section of sections)
    if (section) await splitter.add(section);
    else await turns.after(TURN_LENGTH);
  return splitter.chunks;
}

interface Limits {
  readonly maxTokens: number;
  readonly overlapTokens: number;
  readonly count: TokenCounter;
}

class Splitter {
  readonly chunks: DocumentChunk[] = [];
  readonly #text: string;
  readonly #limits: Limits;
  /** Characters of the last chunk, and of the last overlap: the next ones are about as long. */
  #length: number;
  #overlap: number;

  constructor(text: string, limits: Limits) {
    this.#text = text;
    this.#limits = limits;
    this.#length = 4 * limits.maxTokens;
    this.#overlap = 4 * limits.overlapTokens;
  }

  async add({ start, end, headings }: Section): Promise<void> {
    let from = this.#pastSpace(start);
    let covered = from;
    while (covered < end) {
      const to = await this.#endOfChunk(from, covered, end);
      if (to === undefined) {
        if (from === covered) throw this.#tooSmall(from);
        from = covered; // the repeated text leaves no room for more
        continue;
      }
      const text = this.#text.slice(from, to).trimEnd();
      this.chunks.push({ text, start: from, end: from + text.length, headings });
      covered = Math.min(end, this.#pastSpace(to));
      if (covered < end) from = Math.min(covered, this.#pastSpace(await this.#overlapStart(from, to)));
    }
  }

  /** Returns where the chunk from `from` ends, behind `covered`; undefined if it would have too many tokens. */
  async #endOfChunk(from: number, covered: number, end: number): Promise<number | undefined> {
    const { maxTokens } = this.#limits;
    const most = Math.min(end - from, maxTokens * CHARACTERS_PER_TOKEN);
    const length = await longestFit(most, maxTokens, this.#length, (n) => this.#tokens(from, from + n));
    this.#length = Math.max(length, 1);
    const high = wholeCharacters(this.#text, from + length);
    if (high <= covered) return undefined;
    if (high === end) return end;
    const to = this.#borderBefore(from, covered, high);
    // A shorter text has rarely more tokens, but then the one that was counted is right.
    return (await this.#tokens(from, to)) <= maxTokens ? to : high;
  }

  /** Returns the best place up to `high` in which a chunk ends. At least half of what is new stays in it. */
  #borderBefore(from: number, covered: number, high: number): number {
    const border = lastBorder(this.#text, { low: Math.ceil((covered + high) / 2), high });
    return border ?? characterBorders(this.#text, from, { low: covered + 1, high }).at(-1) ?? high;
  }

  /** Returns where the chunk after the one from `from` to `to` begins. */
  async #overlapStart(from: number, to: number): Promise<number> {
    const { overlapTokens } = this.#limits;
    if (overlapTokens === 0) return to;
    const most = to - from - 1;
    const length = await longestFit(most, overlapTokens, this.#overlap, (n) => this.#tokens(to - n, to));
    this.#overlap = Math.max(length, 1);
    const low = to - length;
    const border = firstBorder(this.#text, { low, high: Math.floor((low + to) / 2) });
    return border ?? characterBorders(this.#text, from, { low, high: to })[0] ?? to;
  }

  async #tokens(from: number, to: number): Promise<number> {
    const text = this.#text.slice(wholeCharacters(this.#text, from), wholeCharacters(this.#text, to)).trim();
    return text === '' ? 0 : await this.#limits.count(text);
  }

  /** Returns the place of the next character that is no white space. */
  #pastSpace(at: number): number {
    const space = /\s*/y;
    space.lastIndex = at;
    return at + (space.exec(this.#text)?.[0].length ?? 0);
  }

  #tooSmall(at: number): RangeError {
    const character = JSON.stringify(String.fromCodePoint(this.#text.codePointAt(at) ?? 0));
    return new RangeError(`maxTokens is too small: the character ${character} alone has more tokens`);
  }
}
