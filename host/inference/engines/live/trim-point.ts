import type { HeardWord } from './word-agreement.ts';

/** Lengths of the window in seconds. */
export interface WindowLengths {
  /** From here on it is cut after a confirmed sentence. */
  readonly comfortableS: number;
  /** From here on it is cut after any confirmed word. */
  readonly longS: number;
  /** It is never longer. */
  readonly longestS: number;
}

/** A pass takes longer over a longer window, but hears words better that have more speech before them. */
export const WINDOW_LENGTHS: WindowLengths = { comfortableS: 6, longS: 12, longestS: 20 };

/** Speech at the end of a window that is kept when it is cut because it is too long. */
const KEPT_S = 2;

export interface TrimmedWindow {
  /** Times in seconds from the start of the stream. */
  readonly start: number;
  readonly end: number;
  /** Confirmed words in the window. */
  readonly confirmed: readonly HeardWord[];
  /** Words that the last pass heard after them. */
  readonly pending: readonly HeardWord[];
}

export interface Trim {
  /** Time before which audio is dropped. */
  readonly at: number;
  /** Number of pending words that must be confirmed, because their audio is dropped. */
  readonly confirmed: number;
}

const SENTENCE_END = /[.?!…。？！][\p{Pe}\p{Pf}"']*$/u;
const endsSentence = ({ word }: HeardWord): boolean => SENTENCE_END.test(word.trim());

/** Returns where a window is cut; undefined if it is kept as it is. */
export function trimPoint(
  { start, end, confirmed, pending }: TrimmedWindow,
  { comfortableS, longS, longestS }: WindowLengths = WINDOW_LENGTHS,
): Trim | undefined {
  const length = end - start;
  const sentence = confirmed.findLast(endsSentence);
  const word = confirmed.at(-1);
  if (length > comfortableS && sentence && sentence.end > start) return { at: sentence.end, confirmed: 0 };
  if (length > longS && word && word.end > start) return { at: word.end, confirmed: 0 };
  if (length < longestS) return undefined;
  const kept = pending.findIndex((each) => each.end > end - KEPT_S);
  const lost = kept === -1 ? pending.length : kept;
  return { at: Math.max(pending[lost - 1]?.end ?? 0, end - longS), confirmed: lost };
}
