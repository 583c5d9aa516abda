import { choice as choiceOf, literal } from './gbnf.ts';
import { refuse, UnusableStructure } from './refusal.ts';
import { regexGrammar } from './regex-grammar.ts';
import { parseRegex } from './regex-parser.ts';
import { SchemaGrammar } from './schema-grammar.ts';

/** The form of an answer. Exactly one of the members that name a form is set. */
export interface StructuredOutputs {
  readonly json?: unknown;
  readonly json_object?: boolean | null | undefined;
  readonly regex?: string | null | undefined;
  readonly choice?: readonly string[] | null | undefined;
  readonly grammar?: string | null | undefined;
  /** Whether a schema is refused that no grammar can express wholly. */
  readonly strict?: boolean | null | undefined;
}

export interface StructuredGrammar {
  readonly text: string;
  /** JSON pointers to the keywords of the schema that do not bind the answer. */
  readonly unbound: readonly string[];
}

/** Larger counts make grammars that the engine refuses. A strict schema is refused by the engine. */
const MOST_REPEATED = 10_000;

/** Returns the grammar of a form. Throws `UnusableStructure`, which names the place, for one that has none. */
export function structuredGrammar(form: StructuredOutputs): StructuredGrammar {
  const { json, strict } = form;
  if (json === undefined || json === null) return { text: textOf(form), unbound: [] };
  const grammar = new SchemaGrammar(typeof json === 'string' ? parsed(json) : json, {
    ...(strict !== true && { isLoose: true, mostRepeated: MOST_REPEATED }),
  });
  return { text: grammar.grammar(), unbound: grammar.unbound };
}

function textOf({ json_object: anyObject, regex, choice, grammar }: StructuredOutputs): string {
  if (anyObject) return new SchemaGrammar({ type: 'object' }).grammar();
  if (regex !== undefined && regex !== null)
    return `root ::= ${regexGrammar(parseRegex(regex, 'regex', true), false)}\n`;
  if (choice) return `root ::= ${choiceOf(choice.map(literal))}\n`;
  if (grammar !== undefined && grammar !== null) return grammar;
  throw new UnusableStructure('one of json, json_object, regex, choice and grammar is needed');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse('json', `it is not JSON: ${(error as Error).message}`);
  }
}
