/**
 * A character as a reader counts them: a letter with its marks, a flag, or a joined emoji. `Intl.Segmenter` is not in
 * the sandbox of plugins.
 */
const CHARACTER = /\p{RI}\p{RI}|(?:\P{M}(?:\p{M}|\p{EMod})*)(?:\u200d\P{M}(?:\p{M}|\p{EMod})*)*|\p{M}+/gsu;

export function charactersOf(text: string): string[] {
  return text.match(CHARACTER) ?? [];
}

/** Scripts that have no spaces between words. A line may break beside each of their characters. */
const WITHOUT_SPACES =
  /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}\u3000-〿\uff00-\uff60ー]/u;
/** Characters with which no line begins: closing brackets, marks at the end of a sentence, and small kana. */
const NOT_FIRST = /^[\p{Pe}\p{Pf}\p{Po}\p{Lm}ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ]/u;
/** Characters with which no line ends. */
const NOT_LAST = /^[\p{Ps}\p{Pi}]/u;

/** The characters from `from` up to `to`, without `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Breaks a text, given as characters, into lines of at most `width` characters: at spaces, and inside of words only in
 * scripts without spaces and where a word is longer than a line. No line begins or ends with a space.
 */
export function brokenLines(characters: readonly string[], width: number): Span[] {
  const lines: Span[] = [];
  let from = 0;
  while (characters[from] === ' ') from++;
  while (from < characters.length) {
    let to = lineEnd(characters, from, width);
    const next = to;
    while (characters[to - 1] === ' ') to--;
    lines.push({ from, to });
    from = next;
    while (characters[from] === ' ') from++;
  }
  return lines;
}

function lineEnd(characters: readonly string[], from: number, width: number): number {
  const furthest = from + width;
  if (furthest >= characters.length) return characters.length;
  for (let at = furthest; at > from; at--) if (mayBreakBefore(characters, at)) return at;
  return furthest;
}

function mayBreakBefore(characters: readonly string[], at: number): boolean {
  const [before = '', after = ''] = [characters[at - 1], characters[at]];
  if (before === ' ' || after === ' ') return true;
  if (NOT_FIRST.test(after) || NOT_LAST.test(before)) return false;
  return WITHOUT_SPACES.test(before) || WITHOUT_SPACES.test(after);
}
