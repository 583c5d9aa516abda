import { isDeepStrictEqual } from 'node:util';
import type { Schema, SchemaObject, TypeName } from './schema-keywords.ts';
import { propertiesOf } from './schema-merge.ts';

const MOST_NESTING = 8;

/**
 * Returns whether no value can meet both schemas, which is certain where it says so. `flat` returns a schema without
 * references. Only what a schema says counts: without `type` it takes values of all types.
 */
export function areApart(a: Schema, b: Schema, flat: (schema: Schema) => Schema, nesting = 0): boolean {
  if (a === false || b === false) return true;
  if (a === true || b === true || nesting > MOST_NESTING) return false;
  const [types, otherTypes] = [typesIn(a), typesIn(b)];
  const isSameType = (type: TypeName): boolean =>
    otherTypes.some((other) => other === type || (isNumeric(other) && isNumeric(type)));
  if (!types.some(isSameType)) return true;
  const [values, otherValues] = [valuesIn(a), valuesIn(b)];
  if (values && otherValues)
    return !values.some((value) => otherValues.some((other) => isDeepStrictEqual(value, other)));
  const areObjects = [...types, ...otherTypes].every((type) => type === 'object');
  if (areObjects) return haveApartProperties(a, b, flat, nesting);
  const areNumbers = [...types, ...otherTypes].every(isNumeric);
  return areNumbers && (isBelow(a, b) || isBelow(b, a));
}

/** The types of all values. */
export const ALL_TYPES: readonly TypeName[] = ['string', 'number', 'boolean', 'null', 'array', 'object'];
const isNumeric = (type: TypeName): boolean => type === 'number' || type === 'integer';

/** Returns the types that the values of a schema without references may have. It does not look into alternatives. */
export function typesIn(schema: SchemaObject): readonly TypeName[] {
  const values = valuesIn(schema);
  if (values) return values.map(typeOf);
  const type = schema['type'] as TypeName | readonly TypeName[] | undefined;
  return type === undefined ? ALL_TYPES : [type].flat();
}

function typeOf(value: unknown): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as TypeName;
}

function valuesIn(schema: SchemaObject): readonly unknown[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return schema['enum'] as readonly unknown[] | undefined;
}

/**
 * Returns whether both require a property that cannot have a value for both, or one requires what the other forbids.
 */
function haveApartProperties(
  a: SchemaObject,
  b: SchemaObject,
  flat: (schema: Schema) => Schema,
  nesting: number,
): boolean {
  const [required, otherRequired] = [requiredIn(a), requiredIn(b)];
  const [properties, others] = [propertiesOf(a), propertiesOf(b)];
  const forbids = (schema: SchemaObject, name: string): boolean => {
    const part = propertiesOf(schema)[name];
    return part === undefined ? schema['additionalProperties'] === false : part === false;
  };
  if (required.some((name) => forbids(b, name)) || otherRequired.some((name) => forbids(a, name))) return true;
  return required.some((name) => {
    const [part, other] = [properties[name], others[name]];
    if (part === undefined || other === undefined || !otherRequired.includes(name)) return false;
    return areApart(flat(part), flat(other), flat, nesting + 1);
  });
}

const requiredIn = (schema: SchemaObject): readonly string[] =>
  (schema['required'] as readonly string[] | undefined) ?? [];

function isBelow(a: SchemaObject, b: SchemaObject): boolean {
  const most = Math.min(...[a['maximum'], a['exclusiveMaximum']].filter((value) => typeof value === 'number'));
  const least = Math.max(...[b['minimum'], b['exclusiveMinimum']].filter((value) => typeof value === 'number'));
  if (most < least) return true;
  return most === least && (a['exclusiveMaximum'] === most || b['exclusiveMinimum'] === least);
}
