import { EXACTLY_ONE, type ValidationEntry } from '../../base/schemas/index.ts';
import { validationError } from './endpoint.ts';
import { certainBranchesOf } from './schema-choice.ts';
import { isObject, listOf, mentions, visitValues } from './visit-values.ts';

/**
 * Checks the rules of a schema that allow exactly one of several keys, such as the sources of a media. JSON Schema
 * cannot express such a rule with one clear error. Without this check the component would find the error, after the
 * host has looked for the files that the input names.
 */
export function checkExactlyOne(schema: object, input: unknown): void {
  if (!mentions(schema, EXACTLY_ONE)) return;
  const wrong: ValidationEntry[] = [];
  visitValues(schema, input, certainBranchesOf, (schemas, value, loc) => {
    if (!isObject(value)) return;
    for (const keys of schemas.map((one) => listOf(one[EXACTLY_ONE]) as readonly string[])) {
      if (keys.length === 0 || keys.filter((key) => value[key] !== undefined && value[key] !== null).length === 1)
        continue;
      wrong.push({ type: 'value_error', loc, msg: `Value error, ${exactlyOneMessage(keys)}`, input: value });
    }
  });
  if (wrong.length > 0) throw validationError(wrong);
}

/** The message of the original. */
function exactlyOneMessage(keys: readonly string[]): string {
  const quoted = keys.map((key) => `'${key}'`);
  return `Exactly one of ${quoted.slice(0, -1).join(', ')}, or ${quoted.at(-1)} must be provided.`;
}
