import { choice as choiceOf, literal } from './gbnf.ts';
import type { Source } from './quotes/quote-source.ts';
import { Quotes } from './quotes/quotes.ts';
import { refuse, UnusableStructure } from './refusal.ts';
import { regexGrammar } from './regex-grammar.ts';
import { parseRegex } from './regex-parser.ts';
import { QUOTE, SchemaGrammar } from './schema-grammar.ts';

/** The form of an answer. One of the members that name a form is set, or `json` and `quote_of`. */
export interface StructuredOutputs {
  readonly json?: unknown;
  readonly json_object?: boolean | null | undefined;
  readonly regex?: string | null | undefined;
  readonly choice?: readonly string[] | null | undefined;
  readonly grammar?: string | null | undefined;
  /** Sources of quotations: of the strings of the schema with the format `quote`; without a schema, of the answer. */
  readonly quote_of?: readonly Source[] | null | undefined;
  readonly min_words?: number | null | undefined;
  readonly max_words?: number | null | undefined;
  /** Whether a schema is refused that no grammar can express wholly. */
  readonly strict?: boolean | null | undefined;
}

export interface StructuredGrammar {
  readonly text: string;
  /** JSON pointers to the keywords of the schema that do not bind the answer. */
  readonly unbound: readonly string[];
  /** The sources of `%quote` in the grammar. */
  readonly quotes?: Quotes;
}

/** Larger counts make grammars that the engine refuses. A strict schema is refused by the engine. */
const MOST_REPEATED = 10_000;
const MIN_WORDS = 5;

/** Returns the grammar of a form. Throws `UnusableStructure`, which names the place, for one that has none. */
export function structuredGrammar(form: StructuredOutputs): StructuredGrammar {
  const { json, strict, quote_of: sources } = form;
  const inJson = json !== undefined && json !== null;
  const [minWords, maxWords] = [form.min_words ?? MIN_WORDS, form.max_words ?? undefined];
  const quotes = sources ? new Quotes(sources, { minWords, maxWords, inJson }) : undefined;
  if (!inJson)
    return quotes ? { text: `root ::= ${QUOTE}\n`, unbound: [], quotes } : { text: textOf(form), unbound: [] };
  const grammar = new SchemaGrammar(typeof json === 'string' ? parsed(json) : json, {
    hasQuotes: quotes !== undefined,
    ...(strict !== true && { isLoose: true, mostRepeated: MOST_REPEATED }),
  });
  const text = grammar.grammar();
  if (!quotes) return { text, unbound: grammar.unbound };
  if (!text.includes(QUOTE)) refuse('json', 'beside quote_of, a string of the schema needs the format "quote"');
  return { text, unbound: grammar.unbound, quotes };
}

function textOf({ json_object: anyObject, regex, choice, grammar }: StructuredOutputs): string {
  if (anyObject) return new SchemaGrammar({ type: 'object' }).grammar();
  if (regex !== undefined && regex !== null)
    return `root ::= ${regexGrammar(parseRegex(regex, 'regex', true), false)}\n`;
  if (choice) return `root ::= ${choiceOf(choice.map(literal))}\n`;
  if (grammar !== undefined && grammar !== null) return grammar;
  throw new UnusableStructure('one of json, json_object, regex, choice, grammar and quote_of is needed');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse('json', `it is not JSON: ${(error as Error).message}`);
  }
}
