// Checks quotations by code that shares nothing with the product: it has no imports.

interface Part {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

interface Told {
  readonly text: string;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly source: number;
}

/**
 * Returns why a quotation is wrong; undefined when it is right: words of the source, as many as needed, with the times
 * of their first passage. The words of the sources stand between spaces; a part begins with the space before it.
 */
export function quotationProblem(
  told: Told,
  sources: readonly (readonly Part[])[],
  minWords: number,
  maxWords = Infinity,
): string | undefined {
  const parts = sources[told.source];
  if (!parts) return `there is no source ${told.source}`;
  const words = told.text.split(' ').length;
  if (words < minWords || words > maxWords) return `it has ${words} words`;
  const owners: Part[] = [];
  let whole = '';
  for (const part of parts) {
    whole += part.text;
    while (owners.length < whole.length) owners.push(part);
  }
  const at = `${whole} `.indexOf(` ${told.text} `);
  if (at < 0) return 'the source does not have it';
  const [first, last] = [owners[at + 1]!, owners[at + told.text.length]!];
  if (told.start !== first.start || told.end !== last.end)
    return `its times are ${told.start} to ${told.end}, not ${first.start} to ${last.end}`;
  return undefined;
}
