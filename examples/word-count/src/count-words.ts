import { z } from 'aana-host/plugin';

export const WordCount = z.strictObject({
  words: z.int().check(z.describe('The number of words.')),
  different: z.int().check(z.describe('The number of different words, regardless of capital letters.')),
  most_frequent: z
    .array(z.strictObject({ word: z.string(), times: z.int() }))
    .check(z.describe('The most frequent words first; words with the same count in alphabetical order.')),
});
export type WordCount = z.infer<typeof WordCount>;

/** A word consists of letters and digits of any script. Apostrophes and hyphens may stand inside. */
const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;

export function countWords(text: string, top: number): WordCount {
  const words = text.toLowerCase().match(WORD) ?? [];
  const times = new Map<string, number>();
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
  const sorted = [...times]
    .map(([word, count]) => ({ word, times: count }))
    .sort((a, b) => b.times - a.times || (a.word < b.word ? -1 : 1));
  return { words: words.length, different: times.size, most_frequent: sorted.slice(0, top) };
}
