/** The target fill of parts. Tokens are not spread evenly over a text, and a part over the limit is halved. */
const FILL = 0.9;

export interface SplitOptions {
  readonly maxTokens: number;
  /** The text between pieces. */
  readonly separator: string;
  /** Counts the tokens of a text. Each call is a host call. */
  readonly countTokens: (text: string) => Promise<number>;
}

/**
 * Joins pieces into consecutive parts of about equal length, each with at most `maxTokens` tokens. Cuts a piece that is
 * longer.
 */
export async function splitParts(pieces: readonly string[], options: SplitOptions): Promise<string[]> {
  const { maxTokens, separator, countTokens } = options;
  const text = pieces.join(separator);
  const total = await countTokens(text);
  if (total <= maxTokens) return [text];
  const count = Math.ceil(total / (maxTokens * FILL));
  const target = text.length / count;
  const groups: string[][] = [[]];
  let length = 0;
  for (const piece of pieces) {
    const isFull = length + piece.length / 2 >= target * groups.length && groups.length < count;
    if (isFull) groups.push([]);
    groups.at(-1)?.push(piece);
    length += piece.length + 1;
  }
  return splitGroups(groups, options);
}

async function splitGroups(groups: readonly (readonly string[])[], options: SplitOptions): Promise<string[]> {
  const parts = await Promise.all(groups.map((group) => splitGroup(group, options)));
  return parts.flat();
}

async function splitGroup(group: readonly string[], options: SplitOptions): Promise<string[]> {
  const { maxTokens, separator, countTokens } = options;
  if (group.length === 0) return [];
  const text = group.join(separator);
  if ((await countTokens(text)) <= maxTokens) return [text];
  const [only] = group;
  const halves = group.length === 1 && only !== undefined ? cutInTwo(only) : halve(group);
  return splitGroups(halves, options);
}

function halve<T>(items: readonly T[]): T[][] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/** Cuts at the last space before the middle, or in the middle if there is none. */
function cutInTwo(text: string): string[][] {
  const characters = [...text]; // an array of characters, so that none is cut in two
  const middle = Math.ceil(characters.length / 2);
  const space = characters.lastIndexOf(' ', middle);
  const at = space > 0 ? space : middle;
  return [[characters.slice(0, at).join('').trim()], [characters.slice(at).join('').trim()]];
}
