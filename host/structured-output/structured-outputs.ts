import { choice as choiceOf, literal } from './gbnf.ts';
import { refuse, UnusableStructure } from './refusal.ts';
import { regexGrammar } from './regex-grammar.ts';
import { parseRegex } from './regex-parser.ts';
import { schemaGrammar } from './schema-grammar.ts';

/** The form of an answer. Exactly one of the forms is there. */
export interface StructuredOutputs {
  readonly json?: unknown;
  readonly json_object?: boolean | null | undefined;
  readonly regex?: string | null | undefined;
  readonly choice?: readonly string[] | null | undefined;
  readonly grammar?: string | null | undefined;
}

/** Returns the grammar of a form. Throws `UnusableStructure`, which names the place, for one that has none. */
export function structuredGrammar({ json, json_object: anyObject, regex, choice, grammar }: StructuredOutputs): string {
  if (json !== undefined && json !== null) return schemaGrammar(typeof json === 'string' ? parsed(json) : json);
  if (anyObject) return schemaGrammar({ type: 'object' });
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
