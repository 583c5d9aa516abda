import { type HeardWord, isSame } from './word-agreement.ts';

/** Words of the longest phrase whose repetition is noticed. */
const LONGEST_PHRASE = 12;
/** Times that a phrase of one or two words, or a longer one, may follow itself. People say "no, no, no". */
const SHORT_REPEATS = 3;
const LONG_REPEATS = 1;

/**
 * Returns the words up to the first phrase that repeats itself again and again. Whisper falls into such loops where
 * speech is cut off, and two passes may agree on them.
 */
export function withoutLoops(words: readonly HeardWord[]): readonly HeardWord[] {
  for (let at = 0; at < words.length; at += 1) {
    for (let length = 1; length <= LONGEST_PHRASE; length += 1) {
      if (repeats(words, at, length) > (length <= 2 ? SHORT_REPEATS : LONG_REPEATS)) return words.slice(0, at + length);
    }
  }
  return words;
}

/** Returns how often the `length` words at `at` follow themselves. */
function repeats(words: readonly HeardWord[], at: number, length: number): number {
  let same = 0;
  while (isSame(words[at + same], words[at + same + length])) same += 1;
  return Math.floor(same / length);
}
