/** A word that a pass over the window has heard. Times are in seconds from the start of the stream. */
export interface HeardWord {
  /** With its leading space. */
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** 0 to 1. */
  readonly probability: number;
}

/**
 * Decides which words of a live transcription are final. Each pass hears the window again, with more audio at its end.
 * A word is confirmed when two passes in a row agree on it and on all words before it. Source: LocalAgreement-2 in
 * Macháček, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System" (2023).
 */
export class WordAgreement {
  /** Confirmed words that a pass may hear again, because their audio is still in the window. */
  #confirmed: HeardWord[] = [];
  #pending: readonly HeardWord[] = [];
  #confirmedUntil = 0;

  /** Words that the last pass heard after the confirmed ones. */
  get pending(): readonly HeardWord[] {
    return this.#pending;
  }

  /** End of the last confirmed word, in seconds from the start of the stream. */
  get confirmedUntil(): number {
    return this.#confirmedUntil;
  }

  /** Confirmed words whose audio is still in the window. */
  get confirmed(): readonly HeardWord[] {
    return this.#confirmed;
  }

  /**
   * Takes the words of a pass over the whole window. Returns the words that are confirmed by it. Likely words that end
   * before `settledUntil` need no second pass, because they were heard with enough speech after them.
   */
  hear(words: readonly HeardWord[], settledUntil = -Infinity): HeardWord[] {
    const heard = words.slice(this.#begin(words));
    let agreed = 0;
    while (isSame(heard[agreed], this.#pending[agreed]) || isSettled(heard[agreed], settledUntil)) agreed += 1;
    this.#pending = heard;
    return this.confirm(agreed);
  }

  /** Confirms the first `count` pending words, all by default, and returns them. */
  confirm(count: number = this.#pending.length): HeardWord[] {
    const words = this.#pending.slice(0, count).map((word) => this.#inOrder(word));
    this.#pending = this.#pending.slice(count);
    this.#confirmed.push(...words);
    return words;
  }

  /** Records that the window begins at `time` now, so that passes no longer hear what was before. */
  forgetBefore(time: number): void {
    this.#confirmed = this.#confirmed.filter((word) => middle(word) > time);
  }

  /**
   * Returns the number of words at the beginning of a pass that are confirmed already: the number for which they differ
   * least from the confirmed words, and for which the times differ least, because a pass may hear a confirmed word
   * differently.
   */
  #begin(words: readonly HeardWord[]): number {
    let best = 0;
    let least = Infinity;
    for (const [count, edits] of editsByLength(words, this.#confirmed).entries()) {
      const late = middleOr(words[count - 1], -Infinity) - this.#confirmedUntil;
      const early = this.#confirmedUntil - middleOr(words[count], Infinity);
      const difference = edits + SECONDS_PER_EDIT * Math.max(0, late, early);
      if (difference < least) [best, least] = [count, difference];
    }
    return best;
  }

  /** Returns the word with times that are not before those of the word that was confirmed before it. */
  #inOrder(word: HeardWord): HeardWord {
    const start = Math.max(word.start, this.#confirmedUntil);
    const end = Math.max(word.end, start);
    this.#confirmedUntil = end;
    return { ...word, start, end };
  }
}

/** Weight of times beside differing words, per second. */
const SECONDS_PER_EDIT = 2;

/** Probability of a word that needs no second pass. */
const SETTLED_PROBABILITY = 0.8;

const isSettled = (word: HeardWord | undefined, until: number): boolean =>
  word !== undefined && word.end <= until && word.probability >= SETTLED_PROBABILITY;

const middle = ({ start, end }: HeardWord): number => (start + end) / 2;
const middleOr = (word: HeardWord | undefined, otherwise: number): number => (word ? middle(word) : otherwise);

/** Returns the word in the form in which two passes are compared: without case and punctuation. */
function plain({ word }: HeardWord): string {
  const text = word.normalize('NFKC').toLowerCase().trim();
  return text.replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '') || text;
}

/** Returns whether both are the same word, without regard to case and punctuation. */
export function isSame(a: HeardWord | undefined, b: HeardWord | undefined): boolean {
  return a !== undefined && b !== undefined && plain(a) === plain(b);
}

/** Returns how many words must be changed, added or removed to make `others` of the first 0, 1, … all words. */
function editsByLength(words: readonly HeardWord[], others: readonly HeardWord[]): number[] {
  let row = Array.from({ length: others.length + 1 }, (_, at) => at);
  const edits = [row.at(-1) ?? 0];
  for (const [count, word] of words.entries()) {
    const next = [count + 1];
    for (const [at, other] of others.entries()) {
      const kept = (row[at] ?? 0) + (isSame(word, other) ? 0 : 1);
      next.push(Math.min(kept, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
    edits.push(row.at(-1) ?? 0);
  }
  return edits;
}
