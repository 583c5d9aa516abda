type Schema = Readonly<Record<string, unknown>>;

export interface ExampleOptions {
  /** Whether a media may be given as an uploaded file, which works everywhere; else its address is given. Default: true. */
  readonly files?: boolean;
}

/**
 * A small value that fits a schema, for documentation: given examples and defaults first, else one made from the type. A file is
 * named like the top-level key that it stands under.
 */
export function schemaExample(schema: object, { files = true }: ExampleOptions = {}): unknown {
  return exampleOf({ root: schema as Schema, file: 'file', files }, schema as Schema, 0);
}

interface At {
  readonly root: Schema;
  /** What a file part is called here. */
  readonly file: string;
  readonly files: boolean;
}

const DEEPEST = 16;

function exampleOf(at: At, schema: Schema, depth: number): unknown {
  if (depth > DEEPEST) return null;
  if (schema['default'] !== undefined) return schema['default'];
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['examples']) && schema['examples'].length > 0) return schema['examples'][0];
  if (schema['example'] !== undefined) return schema['example'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (typeof schema['$ref'] === 'string') return exampleOf(at, resolve(at.root, schema['$ref']), depth + 1);
  if (Array.isArray(schema['allOf'])) return exampleOf(at, merged(at.root, schema, schema['allOf'] as Schema[]), depth + 1);
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    const branch = (branches as Schema[]).find((one) => one['type'] !== 'null');
    return branch ? exampleOf(at, branch, depth + 1) : null;
  }
  return exampleOfType(at, schema, depth);
}

function exampleOfType(at: At, schema: Schema, depth: number): unknown {
  const type = [schema['type']].flat().find((one) => one !== 'null') ?? (isSchema(schema['properties']) ? 'object' : undefined);
  switch (type) {
    case 'object':
      return exampleObject(at, schema, depth);
    case 'array':
      return exampleArray(at, schema, depth);
    case 'string':
      return exampleString(schema);
    case 'integer':
    case 'number':
      return exampleNumber(schema, type === 'integer');
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** Required keys, and a file reference where there is one: of several ways to give a media, uploading works everywhere. */
function exampleObject(at: At, schema: Schema, depth: number): Record<string, unknown> {
  const properties = isSchema(schema['properties']) ? (schema['properties'] as Record<string, Schema>) : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  const entries = Object.entries(properties);
  const valueOf = (key: string, inner: Schema): unknown => exampleOf(depth === 0 ? { ...at, file: key } : at, inner, depth + 1);
  const takesFile = entries.some(([, inner]) => isFileReference(inner));
  const address = at.files || !takesFile ? undefined : entries.find(([key, inner]) => /^https?:/.test(String(valueOf(key, inner))))?.[0];
  const wanted = entries.filter(([key, inner]) => required.has(key) || key === address || (at.files && isFileReference(inner)));
  const found = Object.fromEntries(wanted.map(([key, inner]) => [key, at.files && isFileReference(inner) ? at.file : valueOf(key, inner)]));
  if (depth === 0 && Object.keys(found).length === 0) Object.assign(found, telling(entries));
  const least = numberAt(schema, 'minProperties') ?? 0;
  const more = isSchema(schema['additionalProperties']) ? schema['additionalProperties'] : {};
  for (let n = 1; Object.keys(found).length < least; n++) found[`key${n}`] = exampleOf(at, more, depth + 1);
  return found;
}

/** Keys that may be left out, with the values that they have then: where nothing is required, they tell what can be said. */
function telling(entries: readonly (readonly [string, Schema])[]): Record<string, unknown> {
  return Object.fromEntries(entries.flatMap(([key, { default: value }]) => (value === undefined ? [] : [[key, value]])));
}

function exampleArray(at: At, schema: Schema, depth: number): unknown[] {
  const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as Schema[]).map((item) => exampleOf(at, item, depth + 1)) : [];
  const least = numberAt(schema, 'minItems') ?? (first.length > 0 ? 0 : 1);
  const items = schema['items'];
  if (!isSchema(items) || numberAt(schema, 'maxItems') === 0) return first;
  const example = exampleOf(at, items, depth + 1);
  return [...first, ...Array.from({ length: Math.max(0, least - first.length) }, () => example)];
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
/** What patterns that people write take, most telling first. */
const CANDIDATES = ['string', 'https://example.com', 'example', 'a', 'A', '0', '1', '00', 'en', '2026-01-31', 'a.b', '#000000', ''];

function exampleString(schema: Schema): string {
  const format = FORMATS[String(schema['format'])];
  if (format !== undefined) return format;
  const least = numberAt(schema, 'minLength') ?? 0;
  const most = numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY;
  const { pattern } = schema;
  const sized = CANDIDATES.map((text) => text.padEnd(least, text === '' ? 'a' : text).slice(0, most));
  if (typeof pattern !== 'string') return sized[0] ?? '';
  try {
    const matches = new RegExp(pattern, 'u');
    return sized.find((text) => matches.test(text)) ?? 'string';
  } catch {
    return 'string'; // a pattern of another dialect
  }
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

/** One schema that says what all of them say. */
function merged(root: Schema, schema: Schema, parts: readonly Schema[]): Schema {
  const { allOf: _all, ...own } = schema;
  const whole = parts.map((part) => (typeof part['$ref'] === 'string' ? resolve(root, part['$ref']) : part));
  const all = [...whole, own];
  const lists = (key: string): unknown[] => all.flatMap((part) => (Array.isArray(part[key]) ? part[key] : []));
  const properties = Object.assign({}, ...all.map((part) => part['properties'])) as Schema;
  const isObject = Object.keys(properties).length > 0;
  return { ...Object.assign({}, ...all), ...(isObject && { type: 'object', properties, required: lists('required') }) } as Schema;
}

function isFileReference(schema: Schema): boolean {
  if (schema['x-aana-file'] === true) return true;
  return ['anyOf', 'oneOf'].some((keyword) => Array.isArray(schema[keyword]) && (schema[keyword] as Schema[]).some(isFileReference));
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
