import { ANYTHING, charsOf, without } from './char-set.ts';
import { choice, literal, oneOf, repeated, type Rules } from './gbnf.ts';
import { UnusableStructure } from './refusal.ts';
import { regexGrammar } from './regex-grammar.ts';
import { lengthsOf, type Regex } from './regex-parser.ts';
import type { SchemaGrammar } from './schema-grammar.ts';
import type { Schema } from './schema-keywords.ts';

/** The first character of the marks behind a text that stands without quotes, such as `</parameter>`. */
const MARK = charsOf('<');

/**
 * Returns a rule for the texts of a string, as they stand without quotes between marks; undefined where any text may
 * stand there, or where the schema cannot be expressed so. The texts of patterns, formats and lengths have no `<`.
 */
export function textRule(grammar: SchemaGrammar, rules: Rules, part: Schema, at: string): string | undefined {
  try {
    const text = textsOf(grammar, grammar.flat(part, at), at);
    return text === undefined ? undefined : rules.add(text);
  } catch (error) {
    if (error instanceof UnusableStructure) return undefined;
    throw error;
  }
}

function textsOf(grammar: SchemaGrammar, schema: Schema, at: string): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  const { enum: list, const: constant, pattern, format } = schema;
  if (list !== undefined || constant !== undefined) {
    if (Object.keys(schema).some((key) => !['type', 'enum', 'const'].includes(key))) return undefined;
    const values = (list as readonly unknown[] | undefined) ?? [constant];
    const texts = values.filter((value) => typeof value === 'string' && !/<[/|]/.test(value)) as string[];
    return texts.length > 0 ? choice(texts.map(literal)) : undefined;
  }
  const [min, max] = [grammar.countOf(schema, 'minLength', 0, at), grammar.countOf(schema, 'maxLength', Infinity, at)];
  if (pattern !== undefined || format !== undefined) {
    const regex = grammar.regexOf(schema, at);
    const [least, most] = lengthsOf(regex);
    const plain = least < min || most > max ? undefined : withoutMarks(regex);
    return plain && regexGrammar(plain, false);
  }
  if (min === 0 && max === Infinity) return undefined;
  return repeated(oneOf(without(ANYTHING, MARK)), min, max);
}

/** Returns an expression for the texts without marks; undefined if it needs one. */
function withoutMarks(regex: Regex): Regex | undefined {
  switch (regex.kind) {
    case 'set': {
      const set = without(regex.set, MARK);
      return set.length > 0 ? { ...regex, set } : undefined;
    }
    case 'sequence': {
      const parts = regex.parts.map(withoutMarks);
      return parts.includes(undefined) ? undefined : { ...regex, parts: parts as Regex[] };
    }
    case 'choice': {
      const options = regex.options.map(withoutMarks).filter((option) => option !== undefined);
      return options.length > 0 ? { ...regex, options } : undefined;
    }
    case 'repeat': {
      const part = withoutMarks(regex.part);
      if (part) return { ...regex, part };
      return regex.min === 0 ? { kind: 'sequence', parts: [] } : undefined;
    }
  }
}
