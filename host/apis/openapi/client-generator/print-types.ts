/** A JSON Schema in an OpenAPI document. Its references lead to components. */
export type Schema = Readonly<Record<string, unknown>> | boolean;

export interface PrintOptions {
  /** Returns the TypeScript name of the target of a reference. */
  readonly nameOf: (reference: string) => string;
  /** Spaces before all lines but the first. */
  readonly indent?: string;
}

/** Limit of the nesting, which no schema written by hand reaches. */
const DEEPEST = 64;
const FILE = 'x-aana-file';

/**
 * Returns the TypeScript type of the values that a schema allows. Facts that TypeScript cannot express, such as bounds
 * and patterns, are left out.
 */
export function printType(schema: unknown, options: PrintOptions): string {
  return typeOf(schema, options, 0);
}

function typeOf(schema: unknown, options: PrintOptions, depth: number): string {
  if (schema === false) return 'never';
  if (!isObject(schema) || depth > DEEPEST) return 'unknown';
  const go = (inner: unknown): string => typeOf(inner, options, depth + 1);
  if (schema[FILE] === true) return 'FileInput';
  const all = [
    ...(typeof schema['$ref'] === 'string' ? [options.nameOf(schema['$ref'])] : []),
    ...list(schema['allOf']).map(go),
    ...['anyOf', 'oneOf'].flatMap((keyword) =>
      Array.isArray(schema[keyword]) ? [union(list(schema[keyword]).map(go))] : [],
    ),
    ...own(schema, options, depth),
  ].filter((type) => type !== 'unknown');
  const [first = 'unknown', ...more] = [...new Set(all)];
  return more.length === 0 ? first : [first, ...more].map(grouped).join(' & ');
}

/** Returns the types in a schema itself, without its branches. */
function own(schema: Readonly<Record<string, unknown>>, options: PrintOptions, depth: number): string[] {
  if ('const' in schema) return [literal(schema['const'])];
  if (Array.isArray(schema['enum'])) return [union(schema['enum'].map(literal))];
  const types = Array.isArray(schema['type'])
    ? (schema['type'] as unknown[])
    : 'type' in schema
      ? [schema['type']]
      : 'properties' in schema
        ? ['object']
        : [];
  if (types.length === 0) return [];
  return [union(types.map((type) => ofType(String(type), schema, options, depth)))];
}

function ofType(type: string, schema: Readonly<Record<string, unknown>>, options: PrintOptions, depth: number): string {
  switch (type) {
    case 'string':
      return schema['format'] === 'binary' ? 'Blob' : 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
    case 'null':
      return type;
    case 'array':
      return arrayType(schema, options, depth);
    case 'object':
      return objectType(schema, options, depth);
    default:
      return 'unknown';
  }
}

function arrayType(schema: Readonly<Record<string, unknown>>, options: PrintOptions, depth: number): string {
  const go = (inner: unknown): string => typeOf(inner, options, depth + 1);
  const { prefixItems, items } = schema;
  if (!Array.isArray(prefixItems)) return `${grouped(go(items ?? true))}[]`;
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
  const first = prefixItems.map((item, n) => (n < least ? go(item) : `${grouped(go(item))}?`));
  const isClosed =
    items === false || (typeof schema['maxItems'] === 'number' && schema['maxItems'] <= prefixItems.length);
  return `[${[...first, ...(isClosed ? [] : [`...${grouped(go(items ?? true))}[]`])].join(', ')}]`;
}

function objectType(schema: Readonly<Record<string, unknown>>, options: PrintOptions, depth: number): string {
  const properties = Object.entries(isObject(schema['properties']) ? schema['properties'] : {});
  const { additionalProperties } = schema;
  if (properties.length === 0) {
    if (additionalProperties === false) return 'Record<string, never>';
    return `Record<string, ${typeOf(additionalProperties ?? true, options, depth + 1)}>`;
  }
  const indent = `${options.indent ?? ''}  `;
  const required = new Set(list(schema['required']));
  const lines = properties.flatMap(([key, inner]) => [
    ...comment(isObject(inner) ? descriptionOf(inner) : '', indent),
    `${indent}${propertyName(key)}${required.has(key) ? '' : '?'}: ` +
      `${typeOf(inner, { ...options, indent }, depth + 1)};`,
  ]);
  if (isObject(additionalProperties)) lines.push(`${indent}[key: string]: unknown;`);
  return ['{', ...lines, `${options.indent ?? ''}}`].join('\n');
}

/**
 * Returns the description of a schema with its default. If the schema is a union of null and one branch, returns the
 * description of the branch.
 */
function descriptionOf(schema: Readonly<Record<string, unknown>>): string {
  const branches = list(schema['anyOf']).filter((one) => isObject(one) && one['type'] !== 'null');
  const [only] = branches.length === 1 ? branches : [];
  const text = schema['description'] ?? (isObject(only) ? only['description'] : undefined);
  const value = schema['default'] === undefined ? '' : `Default: ${JSON.stringify(schema['default'])}.`;
  return [typeof text === 'string' ? text : '', value].filter((part) => part !== '').join(' ');
}

/** Returns the lines of a comment for the declaration below it; none if the text is empty. */
export function comment(text: string, indent = ''): string[] {
  const lines = text
    .trim()
    .replaceAll('*/', '*\\/')
    .replace(/\s*?(?:\r?\n|\r|\u2028|\u2029){2,}\s*/g, '\n\n')
    .split(/[^\S\r\n]*(?:\r?\n|\r|\u2028|\u2029)[^\S\r\n]*/);
  if (lines.length === 1) return lines[0] === '' ? [] : [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

export function quoted(text: string): string {
  const json = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;
}

export function propertyName(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'unknown';
}

function union(types: readonly string[]): string {
  const different = [...new Set(types)];
  return different.includes('unknown') || different.length === 0
    ? 'unknown'
    : different.map((type) => (different.length > 1 && type.includes(' & ') ? grouped(type) : type)).join(' | ');
}

/** Adds parentheses to a type that has an operator. */
function grouped(type: string): string {
  return /^[\w$.]+(?:\[\])*$|^\{[^]*\}$|^'[^']*'$/.test(type) && !/\} [|&] /.test(type) ? type : `(${type})`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
