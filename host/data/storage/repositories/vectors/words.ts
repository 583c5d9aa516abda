/** Scripts without spaces between words. Two neighbouring characters count as a word there. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}' +
  '\\p{Script=Myanmar}';
const PARTS = new RegExp(`([${UNSPACED}]+)|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/** Characters of a word that count. PostgreSQL refuses very long words. */
const WORD_LENGTH = 64;
/** Different words of a question that are searched for. */
const MOST_WORDS = 64;

/**
 * Returns the words of a text, in their order: letters, digits and their marks in lower case. Both databases search in
 * these words, so that they find the same, and no character of a question has a meaning for them.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [part, unspaced] of text.normalize('NFKC').toLowerCase().matchAll(PARTS)) {
    const characters = [...part];
    if (unspaced === undefined || characters.length === 1) words.push(characters.slice(0, WORD_LENGTH).join(''));
    else for (let at = 1; at < characters.length; at += 1) words.push(characters.slice(at - 1, at + 1).join(''));
  }
  return words;
}

/** Returns the first different words of a question. */
export function questionWords(text: string): string[] {
  return [...new Set(wordsOf(text))].slice(0, MOST_WORDS);
}
