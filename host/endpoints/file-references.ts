import { FILE_REFERENCE } from '../schemas/index.ts';

export interface FileReference {
  /** Field name of the file part. */
  readonly name: string;
  /** Path from the root of the input. */
  readonly loc: readonly (string | number)[];
}

type Schema = Readonly<Record<string, unknown>>;

/** The strings of `input` at places that the schema marks as names of uploaded files. `input` matches the schema. */
export function findFileReferences(schema: object, input: unknown): FileReference[] {
  const found = new Map<string, FileReference>();
  walk(schema as Schema, schema as Schema, input, [], found, 0);
  return [...found.values()];
}

/** Deeper than any schema of a finite input; ends references that lead to themselves. */
const MAX_STEPS = 500;

function walk(root: Schema, schema: unknown, value: unknown, loc: readonly (string | number)[], found: Map<string, FileReference>, steps: number): void {
  if (!isObject(schema) || value === null || value === undefined || steps > MAX_STEPS) return;
  const go = (inner: unknown, innerValue: unknown, key?: string | number): void =>
    walk(root, inner, innerValue, key === undefined ? loc : [...loc, key], found, steps + 1);

  if (schema[FILE_REFERENCE] === true && typeof value === 'string') found.set(JSON.stringify(loc), { name: value, loc });
  if (typeof schema['$ref'] === 'string') go(resolveReference(root, schema['$ref']), value);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) for (const branch of listOf(schema[keyword])) go(branch, value);

  if (Array.isArray(value)) {
    const prefix = listOf(schema['prefixItems']);
    value.forEach((item, i) => go(i < prefix.length ? prefix[i] : schema['items'], item, i));
  } else if (isObject(value)) {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    for (const [key, inner] of Object.entries(value)) go(Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'], inner, key);
  }
}

/** Names of the top-level keys of an input under which a file can be named. */
export function fileKeys(schema: object): string[] {
  const root = schema as Schema;
  const marked = (inner: unknown, seen: ReadonlySet<unknown>): boolean => {
    if (!isObject(inner) || seen.has(inner)) return false;
    if (inner[FILE_REFERENCE] === true) return true;
    const now = new Set(seen).add(inner);
    const branches = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((keyword) => listOf(inner[keyword]));
    const properties = isObject(inner['properties']) ? Object.values(inner['properties']) : [];
    const reference = typeof inner['$ref'] === 'string' ? [resolveReference(root, inner['$ref'])] : [];
    return [...branches, ...properties, ...reference, inner['items'], inner['additionalProperties']].some((next) => marked(next, now));
  };
  const properties = isObject(root['properties']) ? root['properties'] : {};
  return Object.keys(properties).filter((key) => marked(properties[key], new Set()));
}

/** A reference inside the same schema, such as `#/$defs/Video`. */
function resolveReference(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  const keys = reference
    .slice(1)
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root);
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
