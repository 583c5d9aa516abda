import { isDeepStrictEqual } from 'node:util';
import { Impossible, refuse } from './refusal.ts';
import { isObject, type Schema, type SchemaObject, type TypeName } from './schema-keywords.ts';

const MOST_COMBINATIONS = 256;

type Merge = (a: never, b: never, at: string) => unknown;

const larger = (a: number, b: number): number => Math.max(a, b);
const smaller = (a: number, b: number): number => Math.min(a, b);
const both = (a: Schema, b: Schema): Schema => (isDeepStrictEqual(a, b) ? a : { allOf: [a, b] });

function same(key: string): Merge {
  return (a: unknown, b: unknown, at: string) =>
    isDeepStrictEqual(a, b) ? a : refuse(at, `two different ${JSON.stringify(key)} for one value are not supported`);
}

/** How two values of a keyword become one that means both. */
const MERGES: Readonly<Record<string, Merge>> = {
  type: mergeTypes,
  enum: (a: unknown[], b: unknown[]) => a.filter((value) => b.some((other) => isDeepStrictEqual(value, other))),
  const: (a: unknown, b: unknown, at) =>
    isDeepStrictEqual(a, b) ? a : impossible(at, 'two different values of "const"'),
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  required: (a: string[], b: string[]) => [...new Set([...a, ...b])],
  items: both,
  allOf: (a: Schema[], b: Schema[]) => [...a, ...b],
  anyOf: (a: Schema[], b: Schema[], at) => {
    if (a.length * b.length > MOST_COMBINATIONS) refuse(at, `more than ${MOST_COMBINATIONS} combinations of "anyOf"`);
    return a.flatMap((one) => b.map((other) => ({ allOf: [one, other] })));
  },
  uniqueItems: (a: boolean, b: boolean) => a || b,
  unevaluatedProperties: same('unevaluatedProperties'),
  unevaluatedItems: same('unevaluatedItems'),
  oneOf: same('oneOf'),
  prefixItems: same('prefixItems'),
  pattern: same('pattern'),
  format: same('format'),
  multipleOf: same('multipleOf'),
};

function impossible(at: string, why: string): never {
  throw new Impossible(at, why);
}

function mergeTypes(a: TypeName | TypeName[], b: TypeName | TypeName[], at: string): TypeName[] {
  const [first, second] = [[a].flat(), [b].flat()];
  const fits = (type: TypeName, others: TypeName[]): boolean =>
    others.includes(type) || (type === 'integer' && others.includes('number'));
  const left = [...first.filter((type) => fits(type, second)), ...second.filter((type) => fits(type, first))];
  return left.length > 0
    ? [...new Set(left)]
    : impossible(at, `it is ${first.join(' or ')} and ${second.join(' or ')}`);
}

/** Returns a schema that means two, neither of which has a `$ref`. */
export function merged(a: Schema, b: Schema, at: string): Schema {
  if (a === true || b === true) return a === true ? b : a;
  if (a === false || b === false) return impossible(at, 'the schema is false');
  if ((a['prefixItems'] ?? a['items']) !== undefined && (b['prefixItems'] ?? b['items']) !== undefined) {
    if (!isDeepStrictEqual(a['prefixItems'], b['prefixItems']))
      refuse(at, 'two different "prefixItems" for one value are not supported');
  }
  const result: Record<string, unknown> = { ...a };
  for (const [key, value] of Object.entries(b)) {
    if (key === 'properties' || key === 'additionalProperties') continue;
    const merge = MERGES[key];
    if (result[key] === undefined) result[key] = value;
    else if (merge) result[key] = merge(result[key] as never, value as never, at);
    else refuse(at, `two ${JSON.stringify(key)} for one value are not supported`);
  }
  return { ...result, ...mergedProperties(a, b) };
}

function mergedProperties(a: SchemaObject, b: SchemaObject): SchemaObject {
  const [first, second] = [propertiesOf(a), propertiesOf(b)];
  const [others, otherOthers] = [
    a['additionalProperties'] as Schema | undefined,
    b['additionalProperties'] as Schema | undefined,
  ];
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  const forOne = (own: Schema | undefined, rest: Schema | undefined): Schema => own ?? rest ?? true;
  const properties = [...names].map((name) => {
    const [one, other] = [forOne(first[name], others), forOne(second[name], otherOthers)];
    if (one === false || other === false) return [name, false];
    return [name, one === true ? other : other === true ? one : both(one, other)];
  });
  const rest =
    others === undefined
      ? otherOthers
      : otherOthers === undefined
        ? others
        : others === false || otherOthers === false
          ? false
          : both(others, otherOthers);
  return {
    ...(names.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(rest !== undefined && { additionalProperties: rest }),
  };
}

/** Returns the schemas of the properties that a schema names. */
export function propertiesOf(schema: SchemaObject): Readonly<Record<string, Schema>> {
  const properties = schema['properties'];
  // Without a prototype: a schema may name a property `constructor`.
  return Object.assign(Object.create(null) as Record<string, Schema>, isObject(properties) ? properties : {});
}
