import { valueAt } from '../../base/core/json/json-pointer.ts';
import { tooComplex } from './endpoint.ts';

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** Returns the schemas that one schema applies to the same value. `spend` counts the additional steps of this. */
export interface Follow {
  (root: Schema, schema: Schema, value: unknown, spend: (steps: number) => void): unknown[];
  /** Whether the result depends on the value. Default: it never does. */
  readonly dependsOnValue?: (schema: Schema) => boolean;
}

/**
 * Limit of the schemas that are visited for all values inside of an input. A schema of a component can apply thousands
 * of other schemas to each element of a long list.
 */
const MAX_VISITS = 500_000;

/**
 * Visits each value inside of a value with the schemas that `follow` finds for it. Each is visited once, even if
 * several references and branches lead to it. So the work grows with the sizes of the value and the schema, not with
 * the number of ways through the schema. Throws `ValidationError` if it is still too much work.
 */
export function visitValues(
  schema: object,
  input: unknown,
  follow: Follow,
  visit: (schemas: readonly Schema[], value: unknown, loc: readonly (string | number)[]) => void,
): void {
  let visits = 0;
  const spend = (steps: number): void => {
    visits += steps;
    if (visits > MAX_VISITS) throw tooComplex();
  };
  const known = new Map<Schema, readonly Schema[]>();
  const appliedBy = (one: Schema, value: unknown): readonly Schema[] => {
    const before = known.get(one);
    if (before) return before;
    const all = reached(one, (next) => follow(schema as Schema, next, value, spend));
    // These are searched again for each value.
    if (follow.dependsOnValue && all.some(follow.dependsOnValue)) spend(all.length);
    else known.set(one, all);
    return all;
  };
  const go = (schemas: readonly Schema[], value: unknown, loc: readonly (string | number)[]): void => {
    if (value === null || value === undefined) return;
    const all = [...new Set(schemas.flatMap((one) => appliedBy(one, value)))];
    spend(all.length);
    visit(all, value, loc);
    const goDown = (inner: unknown, key: string | number, schemaOf: (one: Schema) => unknown): void => {
      const next = [...new Set(all.map(schemaOf).filter(isObject))];
      if (next.length > 0) go(next, inner, [...loc, key]);
    };
    if (Array.isArray(value)) value.forEach((item, i) => goDown(item, i, (one) => schemaOfItem(one, i)));
    else if (isObject(value))
      for (const [key, inner] of Object.entries(value)) goDown(inner, key, (one) => schemaOfKey(one, key));
  };
  go([schema as Schema], input, []);
}

const mentioned = new WeakMap<object, Map<string, boolean>>();

/** Whether a schema has a keyword anywhere. Most schemas have none of ours, so their inputs are not searched. */
export function mentions(schema: object, keyword: string): boolean {
  const known = mentioned.get(schema) ?? new Map<string, boolean>();
  mentioned.set(schema, known);
  const is = known.get(keyword) ?? JSON.stringify(schema).includes(JSON.stringify(keyword));
  known.set(keyword, is);
  return is;
}

/** Returns every schema that may apply to the same value: a reference, and all branches. */
export function branchesOf(root: Schema, schema: Schema): unknown[] {
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => listOf(schema[keyword]));
  return typeof schema['$ref'] === 'string' ? [valueAt(root, schema['$ref']), ...branches] : branches;
}

/** Returns a schema and all schemas that `nextOf` leads to from it. */
function reached(schema: Schema, nextOf: (schema: Schema) => readonly unknown[]): readonly Schema[] {
  const all = new Set<Schema>();
  const waiting: unknown[] = [schema];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!isObject(next) || all.has(next)) continue;
    all.add(next);
    waiting.push(...nextOf(next));
  }
  return [...all];
}

function schemaOfItem(schema: Schema, i: number): unknown {
  const prefix = listOf(schema['prefixItems']);
  return i < prefix.length ? prefix[i] : schema['items'];
}

function schemaOfKey(schema: Schema, key: string): unknown {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'];
}

export function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
