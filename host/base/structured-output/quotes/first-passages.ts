/** Where a passage ends: the number of the text, and the place behind its last character. */
export interface PassageEnd {
  readonly text: number;
  readonly end: number;
}

/** A text that is a beginning of passages. */
interface Node {
  readonly next: Map<string, number>;
  /** The longest other beginning with which this one ends. */
  suffix: number;
  /** Where this beginning is read first: characters of all texts up to its end. */
  first: number;
}

/**
 * Returns where each passage ends in the texts for the first time; undefined if it is in none. A text and a passage are
 * words, each with the space before it; the one before the first word of a passage does not count. One reading of the
 * texts finds all passages (Aho, Corasick: "Efficient string matching", 1975), because a caller can choose texts for
 * which separate searches take minutes.
 */
export function firstPassages(
  passages: readonly (readonly string[])[],
  texts: readonly Iterable<string>[],
): (PassageEnd | undefined)[] {
  const nodes: Node[] = [newNode()];
  const ends = passages.map((words) => {
    let at = 0;
    for (const word of words) {
      const { next } = nodes[at]!;
      const key = keyOf(word, at);
      const known = next.get(key);
      at = known ?? nodes.push(newNode()) - 1;
      if (known === undefined) next.set(key, at);
    }
    return at;
  });
  const step = (from: number, word: string): number => {
    for (let at = from; ; at = nodes[at]!.suffix) {
      const to = nodes[at]!.next.get(keyOf(word, at));
      if (to !== undefined || at === 0) return to ?? 0;
    }
  };
  const order = [0]; // by length
  for (const at of order)
    for (const [word, to] of nodes[at]!.next) {
      if (at !== 0) nodes[to]!.suffix = step(nodes[at]!.suffix, word);
      order.push(to);
    }

  const begins: number[] = [];
  let length = 0;
  for (const words of texts) {
    begins.push(length);
    let at = 0;
    for (const word of words) {
      at = step(at, word);
      length += word.length;
      nodes[at]!.first = Math.min(nodes[at]!.first, length);
    }
  }
  for (const at of order.toReversed()) {
    const longest = nodes[nodes[at]!.suffix]!;
    longest.first = Math.min(longest.first, nodes[at]!.first);
  }
  return ends.map((end) => {
    const { first } = nodes[end]!;
    if (first === Infinity) return undefined;
    const text = begins.findLastIndex((begin) => begin < first);
    return { text, end: first - begins[text]! };
  });
}

const newNode = (): Node => ({ next: new Map(), suffix: 0, first: Infinity });

/** The space before a word counts only within a passage. */
const keyOf = (word: string, at: number): string => (at === 0 ? word.trimStart() : word);
