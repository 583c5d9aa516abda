import { isSchemaObject, type Schema, UnusableSchema } from './node.ts';

/** The types of JSON whose values have keywords of their own. */
export type KeywordType = 'string' | 'number' | 'array' | 'object';

/** Keywords that check the values of one type, and let all others pass. */
export const KEYWORDS_OF: Readonly<Record<KeywordType, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: [
    ...['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
    ...['minProperties', 'maxProperties'],
  ],
};

/** Keywords that are not supported. A schema with one of them is refused, because it would not be checked fully. */
const UNSUPPORTED = [
  ...['unevaluatedItems', 'unevaluatedProperties', 'if', 'then', 'else'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies', '$dynamicRef', '$recursiveRef'],
];

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): boolean => Number.isFinite(value);
/** `true` is the older form, beside `minimum` or `maximum`. */
const isBound = (value: unknown): boolean => isNumber(value) || typeof value === 'boolean';
const isText = (value: unknown): boolean => typeof value === 'string';

/** What the values of keywords must be. */
const FORMS: Readonly<Record<string, readonly [what: string, isForm: (value: unknown) => boolean]>> = {
  ...Object.fromEntries(
    ['Length', 'Items', 'Properties', 'Contains'].flatMap((of) =>
      ['min', 'max'].map((side) => [side + of, ['a number of at least 0', isCount]] as const),
    ),
  ),
  minimum: ['a number', isNumber],
  maximum: ['a number', isNumber],
  exclusiveMinimum: ['a number', isBound],
  exclusiveMaximum: ['a number', isBound],
  multipleOf: ['a number above 0', (value) => isNumber(value) && (value as number) > 0],
  pattern: ['a text', isText],
  $ref: ['a text', isText],
  uniqueItems: ['true or false', (value) => typeof value === 'boolean'],
  required: ['a list of texts', (value) => Array.isArray(value) && value.every(isText)],
  ...Object.fromEntries(
    ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems'].map((key) => [key, ['a list', Array.isArray]]),
  ),
  ...Object.fromEntries(
    ['properties', 'patternProperties', '$defs', 'definitions'].map((key) => [key, ['an object', isSchemaObject]]),
  ),
};

/** Throws `UnusableSchema` for a keyword that is not supported, or whose value is not what JSON Schema wants. */
export function checkKeywords(schema: Schema, at: string): void {
  for (const keyword of UNSUPPORTED)
    if (schema[keyword] !== undefined)
      throw new UnusableSchema(`${at}/${keyword} cannot be used: the keyword is not supported`);
  for (const [keyword, value] of Object.entries(schema)) {
    const form = Object.hasOwn(FORMS, keyword) ? FORMS[keyword] : undefined;
    if (form && !form[1](value)) throw new UnusableSchema(`${at}/${keyword} cannot be used: it is not ${form[0]}`);
  }
}
