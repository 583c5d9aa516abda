/** Returns the words in lower case and without punctuation. */
export function words(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/[’']/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/**
 * Returns the number of insertions, deletions and substitutions that turn one list into another (Levenshtein distance).
 */
export function edits(from: readonly string[], to: readonly string[]): number {
  let row = to.map((_, index) => index + 1);
  row.unshift(0);
  for (const [index, one] of from.entries()) {
    const next = [index + 1];
    for (const [column, target] of to.entries()) {
      next.push(
        Math.min((row[column] ?? 0) + (one === target ? 0 : 1), (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1),
      );
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Returns the number of edits of words that turn `heard` into `spoken`. */
export const wordErrors = (spoken: string, heard: string): number => edits(words(heard), words(spoken));

/** Returns the word error rate: errors divided by the number of spoken words. */
export function wordErrorRate(spoken: string, heard: string): number {
  return wordErrors(spoken, heard) / words(spoken).length;
}
