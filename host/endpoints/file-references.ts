import { FILE_REFERENCE } from '../schemas/index.ts';
import { tooComplex } from './endpoint.ts';

export interface FileReference {
  /** Field name of the file part. */
  readonly name: string;
  /** Path from the root of the input. */
  readonly loc: readonly (string | number)[];
}

type Schema = Readonly<Record<string, unknown>>;

/** Schemas looked at for all places of an input: a schema of a stranger can apply thousands of others to each element of a long list. */
const MAX_VISITS = 500_000;

/**
 * The strings of `input` at places that the schema marks as names of uploaded files. `input` matches the schema. Each place of the input is
 * looked at once, whatever references and branches lead to it. Throws `ValidationError` when that is too much work.
 */
export function findFileReferences(schema: object, input: unknown): FileReference[] {
  if (!marksFiles(schema)) return [];
  const found: FileReference[] = [];
  let visits = 0;
  const applied = new Map<Schema, readonly Schema[]>();
  const allAppliedBy = (one: Schema): readonly Schema[] => {
    const known = applied.get(one) ?? appliedBy(schema as Schema, one);
    applied.set(one, known);
    return known;
  };
  const visit = (schemas: readonly Schema[], value: unknown, loc: readonly (string | number)[]): void => {
    if (value === null || value === undefined) return;
    const all = new Set(schemas.flatMap(allAppliedBy));
    visits += all.size;
    if (visits > MAX_VISITS) throw tooComplex();
    const go = (inner: unknown, key: string | number, schemasOf: (one: Schema) => unknown): void => {
      const next = [...new Set([...all].map(schemasOf).filter(isObject))];
      if (next.length > 0) visit(next, inner, [...loc, key]);
    };
    if (typeof value === 'string' && [...all].some((one) => one[FILE_REFERENCE] === true)) found.push({ name: value, loc });
    else if (Array.isArray(value)) value.forEach((item, i) => go(item, i, (one) => schemaOfItem(one, i)));
    else if (isObject(value)) for (const [key, inner] of Object.entries(value)) go(inner, key, (one) => schemaOfKey(one, key));
  };
  visit([schema as Schema], input, []);
  return found;
}

const marking = new WeakMap<object, boolean>();

/** Whether a file can be named anywhere: most schemas have no such place, and nothing is looked for in their inputs. */
function marksFiles(schema: object): boolean {
  let marks = marking.get(schema);
  if (marks === undefined) marking.set(schema, (marks = JSON.stringify(schema).includes(JSON.stringify(FILE_REFERENCE))));
  return marks;
}

/** Names of the top-level keys of an input under which a file can be named. */
export function fileKeys(schema: object): string[] {
  const root = schema as Schema;
  const properties = isObject(root['properties']) ? root['properties'] : {};
  /** Schemas that lead to no file. */
  const plain = new Set<Schema>();
  return Object.keys(properties).filter((key) => leadsToFile(root, properties[key], plain));
}

function leadsToFile(root: Schema, from: unknown, plain: Set<Schema>): boolean {
  const seen = new Set<Schema>();
  const waiting = [from];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!isObject(next) || seen.has(next) || plain.has(next)) continue;
    if (next[FILE_REFERENCE] === true) return true;
    seen.add(next);
    const properties = isObject(next['properties']) ? Object.values(next['properties']) : [];
    waiting.push(...sameValue(root, next), ...listOf(next['prefixItems']), ...properties, next['items'], next['additionalProperties']);
  }
  for (const one of seen) plain.add(one);
  return false;
}

/** A schema, and all that it applies to the same value. */
function appliedBy(root: Schema, schema: Schema): readonly Schema[] {
  const all = new Set<Schema>();
  const waiting: unknown[] = [schema];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!isObject(next) || all.has(next)) continue;
    all.add(next);
    waiting.push(...sameValue(root, next));
  }
  return [...all];
}

/** What a schema leads to for the same value: its reference and its branches. */
function sameValue(root: Schema, schema: Schema): unknown[] {
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => listOf(schema[keyword]));
  return typeof schema['$ref'] === 'string' ? [resolveReference(root, schema['$ref']), ...branches] : branches;
}

function schemaOfItem(schema: Schema, i: number): unknown {
  const prefix = listOf(schema['prefixItems']);
  return i < prefix.length ? prefix[i] : schema['items'];
}

function schemaOfKey(schema: Schema, key: string): unknown {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'];
}

/** A reference inside the same schema, such as `#/$defs/Video`. */
function resolveReference(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  const keys = reference
    .slice(1)
    .split('/')
    .slice(1)
    .map((key) => decoded(key).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root);
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key; // a percent sign that begins no escape stands for itself
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
