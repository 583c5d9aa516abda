import { matchesPattern } from '../../base/json-schema/index.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface ExampleOptions {
  /** Whether the example gives a media as an uploaded file, which works everywhere, or as a URL. Default: true. */
  readonly files?: boolean;
}

/** Limits of an example, because people read it: number of values, and number of characters in its texts. */
const MOST_VALUES = 1000;
const MOST_CHARACTERS = 10_000;

/**
 * Returns a small value that fits a schema, for the documentation. Given examples and defaults come first, then a value
 * made from the type. A file has the name of the top-level key above it. Returns undefined if the value would not be
 * small or the schema makes no sense. The work is limited, because the author of a component writes its schemas.
 */
export function schemaExample(schema: object, { files = true }: ExampleOptions = {}): unknown {
  try {
    return exampleOf({ root: schema as Schema, file: 'file', files, room: new Room() }, schema as Schema, 0);
  } catch {
    return undefined;
  }
}

/** The rest of the limits. */
class Room {
  #values = MOST_VALUES;
  #characters = MOST_CHARACTERS;

  /** Throws if this exceeds a limit. */
  take(values: number, characters = 0): void {
    this.#values -= values;
    this.#characters -= characters;
    if (!(this.#values >= 0 && this.#characters >= 0)) throw new Error('the example would not be small');
  }

  /** Makes a value that will be repeated `count` times. */
  repeat<T>(count: number, make: () => T): T {
    const [values, characters] = [this.#values, this.#characters];
    const made = make();
    this.take((values - this.#values) * (count - 1), (characters - this.#characters) * (count - 1));
    return made;
  }
}

interface At {
  readonly root: Schema;
  /** Name of a file part at this place. */
  readonly file: string;
  readonly files: boolean;
  readonly room: Room;
}

const DEEPEST = 16;

function exampleOf(at: At, schema: Schema, depth: number): unknown {
  at.room.take(1);
  if (depth > DEEPEST) return null;
  const given = givenValue(schema);
  if (given !== undefined) {
    at.room.take(0, JSON.stringify(given).length);
    return given;
  }
  if (typeof schema['$ref'] === 'string') return exampleOf(at, resolve(at.root, schema['$ref']), depth + 1);
  if (Array.isArray(schema['allOf']))
    return exampleOf(at, merged(at.root, schema, schema['allOf'] as Schema[]), depth + 1);
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    const branch = (branches as Schema[]).find((one) => one['type'] !== 'null');
    return branch ? exampleOf(at, branch, depth + 1) : null;
  }
  return exampleOfType(at, schema, depth);
}

/** Returns the value that the author of the schema gives. */
function givenValue(schema: Schema): unknown {
  const { default: value, const: constant, examples, example, enum: values } = schema as Record<string, unknown>;
  if (value !== undefined) return value;
  if (constant !== undefined) return constant;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  return example !== undefined ? example : Array.isArray(values) ? values[0] : undefined;
}

function exampleOfType(at: At, schema: Schema, depth: number): unknown {
  const type =
    [schema['type']].flat().find((one) => one !== 'null') ?? (isSchema(schema['properties']) ? 'object' : undefined);
  switch (type) {
    case 'object':
      return exampleObject(at, schema, depth);
    case 'array':
      return exampleArray(at, schema, depth);
    case 'string':
      return exampleString(at, schema);
    case 'integer':
    case 'number':
      return exampleNumber(schema, type === 'integer');
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/**
 * Returns an object with the required keys and with a file reference if there is one. Of several ways to give a media,
 * an upload works everywhere.
 */
function exampleObject(at: At, schema: Schema, depth: number): Record<string, unknown> {
  const properties = isSchema(schema['properties']) ? (schema['properties'] as Record<string, Schema>) : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  const entries = Object.entries(properties);
  at.room.take(entries.length);
  const valueOf = (key: string, inner: Schema): unknown =>
    exampleOf(depth === 0 ? { ...at, file: key } : at, inner, depth + 1);
  const takesFile = entries.some(([, inner]) => isFileReference(inner));
  const address =
    at.files || !takesFile ? undefined : entries.find(([key, inner]) => isAddress(valueOf(key, inner)))?.[0];
  const wanted = entries.filter(
    ([key, inner]) => required.has(key) || key === address || (at.files && isFileReference(inner)),
  );
  const found = Object.fromEntries(
    wanted.map(([key, inner]) => [key, at.files && isFileReference(inner) ? at.file : valueOf(key, inner)]),
  );
  if (depth === 0 && Object.keys(found).length === 0) Object.assign(found, telling(entries));
  const least = numberAt(schema, 'minProperties') ?? 0;
  const more = isSchema(schema['additionalProperties']) ? schema['additionalProperties'] : {};
  for (let n = 1; Object.keys(found).length < least; n++) found[`key${n}`] = exampleOf(at, more, depth + 1);
  return found;
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:/.test(value);
}

/** Returns the optional keys that have defaults. If no key is required, they show the options of the input. */
function telling(entries: readonly (readonly [string, Schema])[]): Record<string, unknown> {
  return Object.fromEntries(
    entries.flatMap(([key, { default: value }]) => (value === undefined ? [] : [[key, value]])),
  );
}

function exampleArray(at: At, schema: Schema, depth: number): unknown[] {
  const first = Array.isArray(schema['prefixItems'])
    ? (schema['prefixItems'] as Schema[]).map((item) => exampleOf(at, item, depth + 1))
    : [];
  const least = numberAt(schema, 'minItems') ?? (first.length > 0 ? 0 : 1);
  const items = schema['items'];
  if (!isSchema(items) || numberAt(schema, 'maxItems') === 0) return first;
  const count = Math.max(0, least - first.length);
  if (count === 0) return first;
  const example = at.room.repeat(count, () => exampleOf(at, items, depth + 1));
  return [...first, ...Array.from({ length: count }, () => example)];
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'PT1M',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com',
  url: 'https://example.com',
  uuid: '6f2c1c5e-4b0e-4f0e-9d7c-0b8f2f6f1f57',
};
/** Texts that match common patterns, the most telling ones first. */
const CANDIDATES = [
  'string',
  'https://example.com',
  'example',
  'a',
  'A',
  '0',
  '1',
  '00',
  'en',
  '2026-01-31',
  'a.b',
  '#000000',
  '',
];

function exampleString({ room }: At, schema: Schema): string {
  const format = FORMATS[String(schema['format'])];
  if (format !== undefined) return format;
  const least = numberAt(schema, 'minLength') ?? 0;
  const most = numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY;
  room.take(0, Math.max(0, least));
  const { pattern } = schema;
  const sized = CANDIDATES.map((text) => text.padEnd(least, text === '' ? 'a' : text).slice(0, most));
  if (typeof pattern !== 'string') return sized[0] ?? '';
  return sized.find((text) => matchesPattern(pattern, text)) ?? 'string';
}

function exampleNumber(schema: Schema, isInteger: boolean): number {
  const step = numberAt(schema, 'multipleOf') ?? (isInteger ? 1 : 0);
  const above = numberAt(schema, 'exclusiveMinimum');
  const below = numberAt(schema, 'exclusiveMaximum');
  const least = Math.max(numberAt(schema, 'minimum') ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY);
  const most = Math.min(numberAt(schema, 'maximum') ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY);
  const isAllowed = (value: number): boolean => value >= least && value <= most && value !== above && value !== below;
  const up = step > 0 ? Math.ceil(least / step) * step : least;
  const down = step > 0 ? Math.floor(most / step) * step : most;
  const between = step > 0 ? up + step : (least + most) / 2;
  return [0, up, between, least + 1, down, most - 1].find((value) => Number.isFinite(value) && isAllowed(value)) ?? 0;
}

/** Returns one schema that combines all parts. */
function merged(root: Schema, schema: Schema, parts: readonly Schema[]): Schema {
  const { allOf: _all, ...own } = schema;
  const whole = parts.map((part) => (typeof part['$ref'] === 'string' ? resolve(root, part['$ref']) : part));
  const all = [...whole, own];
  const lists = (key: string): unknown[] => all.flatMap((part) => (Array.isArray(part[key]) ? part[key] : []));
  const properties = Object.assign({}, ...all.map((part) => part['properties'])) as Schema;
  const isObject = Object.keys(properties).length > 0;
  return {
    ...Object.assign({}, ...all),
    ...(isObject && { type: 'object', properties, required: lists('required') }),
  } as Schema;
}

function isFileReference(schema: Schema): boolean {
  if (schema['x-aana-file'] === true) return true;
  return ['anyOf', 'oneOf'].some(
    (keyword) => Array.isArray(schema[keyword]) && (schema[keyword] as Schema[]).some(isFileReference),
  );
}

function resolve(root: Schema, reference: string): Schema {
  const keys = reference.split('/').slice(1);
  const found = keys.reduce<unknown>((at, key) => (isSchema(at) ? at[key] : undefined), root);
  return isSchema(found) ? found : {};
}

function numberAt(schema: Schema, key: string): number | undefined {
  const value = schema[key];
  return typeof value === 'number' ? value : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
