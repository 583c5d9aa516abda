import * as z from 'zod/mini';
import { fail } from '../../../base/core/errors.ts';
import { suggestion } from '../../../base/core/json/near-keys.ts';
import { checkedValue } from '../../../base/schemas/checks/checked-value.ts';
import { validationEntries, validationMessage } from '../../../base/schemas/checks/validation.ts';

/**
 * Returns the parsed value with defaults. Throws `ValidationError`, whose message starts with `what` and suggests keys
 * instead of an unknown one.
 */
export function check<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.core.output<Schema> {
  const { value: checked, issues } = checkedValue(schema, value);
  if (!issues) return checked;
  const entries = validationEntries(issues, value);
  const [first] = entries;
  const hint = first?.type === 'extra_forbidden' ? hintFor(first.loc, schema) : '';
  const message = `${what}: ${validationMessage(entries)}${hint}`;
  throw fail('ValidationError', message, { data: entries });
}

/** The keys of schemas. They are kept, because a client can repeat a mistake and finding them takes milliseconds. */
const pathsOf = new WeakMap<z.core.$ZodType, readonly string[]>();

/** Returns a suggestion of other keys of the schema's objects. */
function hintFor(loc: readonly (string | number)[], schema: z.core.$ZodType): string {
  let paths = pathsOf.get(schema);
  if (paths === undefined) {
    paths = propertyPaths(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObjectSchema);
    pathsOf.set(schema, paths);
  }
  return suggestion(String(loc.at(-1)), loc.slice(0, -1), paths);
}

/** What is read of a JSON Schema. */
interface JsonObjectSchema {
  readonly properties?: Readonly<Record<string, JsonObjectSchema>>;
  readonly anyOf?: readonly JsonObjectSchema[];
}

function propertyPaths({ properties = {}, anyOf = [] }: JsonObjectSchema, path = ''): string[] {
  const own = Object.entries(properties).flatMap(([name, inner]) => [
    `${path}${name}`,
    ...propertyPaths(inner, `${path}${name}.`),
  ]);
  return [...own, ...anyOf.flatMap((branch) => propertyPaths(branch, path))];
}
