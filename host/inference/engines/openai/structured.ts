import { fail } from '../../../base/core/errors.ts';
import type { StructuredOutputs } from '../../../base/schemas/index.ts';

type Form = Exclude<keyof StructuredOutputs, 'close_json' | 'strict' | 'quote_of' | 'min_words' | 'max_words'>;

const FORMS: readonly Form[] = ['json', 'json_object', 'regex', 'choice', 'grammar'];

/**
 * Returns the part of a request to a server that gives the answer this form; the name of a parameter that
 * the server does not know instead. Throws `InvalidSamplingParams` for a schema that is not JSON.
 */
export function structuredBody(
  dialect: 'openai' | 'vllm' | 'llama-server',
  { close_json: closes, ...forms }: StructuredOutputs,
): Readonly<Record<string, unknown>> | string {
  if (closes) return 'structured_outputs.close_json';
  if (forms.quote_of != null) return 'structured_outputs.quote_of';
  if (dialect === 'openai') return 'structured_outputs';
  const form = FORMS.find((name) => forms[name] !== undefined && forms[name] !== null && isWanted(name, forms[name]));
  if (form === undefined) return {};
  if (dialect === 'vllm') return { structured_outputs: { [form]: forms[form] } };
  switch (form) {
    case 'json':
      return { json_schema: typeof forms.json === 'string' ? parsed(forms.json) : forms.json };
    case 'json_object':
      return { json_schema: { type: 'object' } };
    case 'grammar':
      return { grammar: forms.grammar };
    case 'choice':
      return { grammar: `root ::= ${(forms.choice ?? []).map(literal).join(' | ')}` };
    case 'regex':
      return 'structured_outputs.regex';
    default:
      return form satisfies never;
  }
}

function parsed(schema: string): unknown {
  try {
    return JSON.parse(schema);
  } catch {
    throw fail('InvalidSamplingParams', 'the schema in structured_outputs.json is not JSON');
  }
}

/** `false` is a JSON Schema, but no form otherwise. */
function isWanted(name: Form, value: unknown): boolean {
  return name === 'json' || value !== false;
}

/** Returns a text as a literal of a grammar, which has no short forms for backspace and form feed. */
function literal(text: string): string {
  return JSON.stringify(text).replaceAll('\\b', '\\u0008').replaceAll('\\f', '\\u000c');
}
