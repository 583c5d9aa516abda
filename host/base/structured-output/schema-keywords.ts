import { isDeepStrictEqual } from 'node:util';
import { FORMATS } from './formats.ts';
import { refuse } from './refusal.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;
export type Schema = boolean | SchemaObject;
export type TypeName = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object';

/**
 * Keywords of JSON Schema that say which values are valid, and that no grammar holds. Every keyword that is neither
 * here nor below is an annotation, as JSON Schema 2020-12 says (section 6.5).
 */
const UNHELD = new Set([
  'not',
  'if', // `then` and `else` say nothing without it
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'contains', // `minContains` and `maxContains` say nothing without it
  '$id', // references below it are relative to it
  '$dynamicRef',
  '$recursiveRef',
]);

/** Keywords about values of one type. They say nothing about values of other types. */
const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems', 'unevaluatedItems'],
  object: ['properties', 'required', 'additionalProperties', 'unevaluatedProperties', 'minProperties', 'maxProperties'],
};

const ANY_TYPE = ['type', 'const', 'enum', '$ref', 'allOf', 'anyOf', 'oneOf'];
const HELD = new Set([...Object.values(BY_TYPE).flat(), ...ANY_TYPE]);
const TYPES: readonly TypeName[] = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a value as a schema. Throws `UnusableStructure` when it is none. */
export function asSchema(value: unknown, at: string): Schema {
  return typeof value === 'boolean' || isObject(value) ? value : refuse(at, 'it is not a schema');
}

/** A schema without annotations. */
export interface Assertions {
  readonly held: SchemaObject;
  /** Keywords that no grammar holds. */
  readonly unheld: readonly string[];
}

/** The format of a string that is a quotation of the request's sources. */
export const QUOTE_FORMAT = 'quote';

/** Returns what a schema says about which values are valid. `hasQuotes`: whether the request has sources to quote. */
export function assertions(schema: SchemaObject, at: string, hasQuotes: boolean): Assertions {
  const isQuote = ([key, value]: readonly [string, unknown]): boolean =>
    hasQuotes && key === 'format' && value === QUOTE_FORMAT;
  const entries = Object.entries(schema).filter((entry) => isQuote(entry) || !isUnknownFormat(...entry));
  const isUnheld = ([key, value]: readonly [string, unknown]): boolean =>
    UNHELD.has(key) && !(key === '$id' && at === '#') && !isEveryName(key, value);
  return {
    held: Object.fromEntries(entries.filter(([key]) => HELD.has(key))),
    unheld: entries.filter(isUnheld).map(([key]) => key),
  };
}

/** Whether a keyword is a format that this package does not know, such as `path`, which annotates a value. */
function isUnknownFormat(key: string, value: unknown): boolean {
  return key === 'format' && !FORMATS.has(String(value));
}

/** Whether a keyword says that the names of properties are texts, as schemas of zod do. */
function isEveryName(key: string, value: unknown): boolean {
  return key === 'propertyNames' && (value === true || isDeepStrictEqual(value, { type: 'string' }));
}

/** Returns the types that the keyword `type` names; undefined without it. */
export function explicitTypes(schema: SchemaObject, at: string): readonly TypeName[] | undefined {
  const { type } = schema;
  if (type === undefined) return undefined;
  const names = Array.isArray(type) ? type : [type];
  for (const name of names) {
    if (!TYPES.includes(name as TypeName)) refuse(at, `${JSON.stringify(name)} is not a type`);
  }
  return names as TypeName[];
}

/** Returns the types of the values to make. Without `type`, keywords about one type mean that type. */
export function typesOf(schema: SchemaObject, at: string): readonly TypeName[] | undefined {
  const types = explicitTypes(schema, at);
  if (types) return types;
  const meant = Object.keys(BY_TYPE).filter((type) => BY_TYPE[type]!.some((key) => schema[key] !== undefined));
  return meant.length === 0 ? undefined : (meant as TypeName[]);
}

/** Returns a number that is not negative, or the default. */
export function count(schema: SchemaObject, key: string, absent: number, at: string): number {
  const value = schema[key];
  if (value === undefined) return absent;
  return Number.isInteger(value) && (value as number) >= 0
    ? (value as number)
    : refuse(at, `${key} is not a whole number from 0 on`);
}
