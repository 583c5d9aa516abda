/** Scripts without spaces between words. Two neighbouring characters count as a word there. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}' +
  '\\p{Script=Myanmar}';
const PARTS = new RegExp(`([${UNSPACED}]+)|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/** Characters of a word that count. PostgreSQL refuses very long words. */
const WORD_LENGTH = 64;
/** Characters of a text that count once it is normalized, which makes up to 18 of one. */
const MOST_CHARS = 131_072;
/** The marks after 30 others, as in the stream-safe format of Unicode: their order takes quadratic time. */
const MORE_MARKS = /(?<=[\p{M}\uFF9E\uFF9F]{30})[\p{M}\uFF9E\uFF9F]+/gu;
/** Different words of a question that are searched for. */
const MOST_WORDS = 64;

/**
 * Returns the words of a text, in their order: letters, digits and their marks in lower case. Both databases search in
 * these words, so that they find the same, and no character of a question has a meaning for them.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  const normalized = text.replace(MORE_MARKS, '').normalize('NFKC').slice(0, MOST_CHARS).toLowerCase();
  for (const [part, unspaced] of normalized.matchAll(PARTS)) {
    if (unspaced === undefined) {
      words.push(part.length <= WORD_LENGTH ? part : beginning(part));
      continue;
    }
    const characters = [...unspaced];
    if (characters.length === 1) words.push(unspaced);
    for (let at = 1; at < characters.length; at += 1) words.push(`${characters[at - 1]}${characters[at]}`);
  }
  return words;
}

/** Returns the characters of a word that count. A character has up to two units. */
function beginning(word: string): string {
  return [...word.slice(0, 2 * WORD_LENGTH)].slice(0, WORD_LENGTH).join('');
}

/** Returns the first different words of a question. */
export function questionWords(text: string): string[] {
  return [...new Set(wordsOf(text))].slice(0, MOST_WORDS);
}
