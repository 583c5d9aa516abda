import { isDeepStrictEqual } from 'node:util';
import { refuse } from './refusal.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;
export type Schema = boolean | SchemaObject;
export type TypeName = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object';

/** Keywords that say nothing about which values are valid. */
const ANNOTATIONS = new Set([
  '$schema',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'discriminator', // of OpenAPI: says which of several schemas is meant, which they say themselves
  'readOnly',
  'writeOnly',
]);

/** Keywords about values of one type. They say nothing about values of other types. */
const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems', 'unevaluatedItems'],
  object: ['properties', 'required', 'additionalProperties', 'unevaluatedProperties', 'minProperties', 'maxProperties'],
};

const ANY_TYPE = ['type', 'const', 'enum', '$ref', 'allOf', 'anyOf', 'oneOf'];
const SUPPORTED = new Set([...Object.values(BY_TYPE).flat(), ...ANY_TYPE]);
const TYPES: readonly TypeName[] = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a value as a schema. Throws `UnusableStructure` when it is none. */
export function asSchema(value: unknown, at: string): Schema {
  return typeof value === 'boolean' || isObject(value) ? value : refuse(at, 'it is not a schema');
}

/**
 * Returns a schema without what says nothing about values. Throws for a keyword that is not supported; with `isLoose`,
 * leaves it out.
 */
export function assertions(schema: SchemaObject, at: string, isLoose = false): SchemaObject {
  const isAssertion = (key: string, value: unknown): boolean =>
    !ANNOTATIONS.has(key) && !(key === '$id' && at === '#') && !isEveryName(key, value);
  const entries = Object.entries(schema).filter(([key, value]) => isAssertion(key, value));
  const unknown = entries.find(([key]) => !SUPPORTED.has(key));
  if (unknown && !isLoose) refuse(at, `the keyword ${JSON.stringify(unknown[0])} is not supported`);
  return Object.fromEntries(entries.filter(([key]) => SUPPORTED.has(key)));
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
