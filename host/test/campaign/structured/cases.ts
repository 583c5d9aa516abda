import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { structuredGrammar, UnusableStructure } from '../../../base/structured-output/index.ts';
import { GrammarCheck } from '../../../base/structured-output/fixtures/grammar-check.ts';

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

export interface CaseCounts {
  /** Cases that the grammar takes if they are valid, and only then. */
  pass: number;
  /** Cases of a schema that cannot be made into a grammar. */
  refused: number;
  /** Valid cases that the grammar does not make, such as properties in another order. */
  narrower: number;
  /** Invalid cases that the grammar takes. */
  wrong: number;
}

/** Checks all cases in a folder. `print` is called with each wrong one. */
export async function checkCases(folder: string, print: (line: string) => void): Promise<CaseCounts> {
  const counts: CaseCounts = { pass: 0, refused: 0, narrower: 0, wrong: 0 };
  const check = new GrammarCheck();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  )) {
    for (const { description, schema, tests } of JSON.parse(readFileSync(join(folder, file), 'utf8')) as Group[]) {
      const grammar = grammarOf(schema);
      for (const test of tests) {
        const answer = grammar === undefined ? { refused: '' } : await check.takes(grammar, JSON.stringify(test.data));
        const outcome =
          typeof answer === 'object' ? 'refused' : answer === test.valid ? 'pass' : answer ? 'wrong' : 'narrower';
        counts[outcome] += 1;
        if (outcome === 'wrong') print(`wrong: ${file}: ${description}: ${test.description}`);
      }
    }
  }
  check.close();
  return counts;
}

function grammarOf(schema: unknown): string | undefined {
  try {
    return structuredGrammar({ json: schema, strict: true }).text;
  } catch (error) {
    if (error instanceof UnusableStructure) return undefined;
    throw error;
  }
}
