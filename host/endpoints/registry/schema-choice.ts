import { valueAt } from '../../base/core/json/json-pointer.ts';
import { EXACTLY_ONE } from '../../base/schemas/index.ts';
import { type Follow, isObject, listOf, type Schema } from './visit-values.ts';

/** Counts steps. Throws if there are too many. */
type Spend = (steps: number) => void;

/** The keywords of unions. */
const UNIONS = ['anyOf', 'oneOf'] as const;
/** The most references to follow from a branch to its own keywords. */
const MAX_REFERENCES = 32;

/**
 * Returns every schema that a value of the whole schema certainly matches. Of a union, this is the only branch that can
 * match the value.
 */
export const certainBranchesOf: Follow = Object.assign(
  (root: Schema, schema: Schema, value: unknown, spend: Spend): unknown[] => {
    const reference = typeof schema['$ref'] === 'string' ? [valueAt(root, schema['$ref'])] : [];
    return [
      ...reference,
      ...listOf(schema['allOf']),
      ...UNIONS.flatMap((keyword) => certainOf(root, listOf(schema[keyword]), value, spend)),
    ];
  },
  { dependsOnValue: (schema: Schema): boolean => UNIONS.some((keyword) => listOf(schema[keyword]).length > 1) },
);

/**
 * Returns the branch of a union that a value must match. If several branches are possible and have the same rule for
 * exactly one of their keys, returns only this rule.
 */
function certainOf(root: Schema, branches: readonly unknown[], value: unknown, spend: Spend): readonly unknown[] {
  const possible = branches.length > 1 ? possibleBranches(root, branches, value, spend) : branches;
  if (possible.length <= 1) return possible;
  const [rule, ...others] = possible.map((branch) => ruleOf(root, branch));
  return rule !== undefined && others.every((other) => JSON.stringify(other) === JSON.stringify(rule))
    ? [{ [EXACTLY_ONE]: rule }]
    : [];
}

function ruleOf(root: Schema, branch: unknown): unknown {
  const schema = isObject(branch) && typeof branch['$ref'] === 'string' ? valueAt(root, branch['$ref']) : branch;
  return isObject(schema) ? schema[EXACTLY_ONE] : undefined;
}

/**
 * Returns the branches of a union that a value can match. `type`, `const`, `enum`, required keys and unknown keys can
 * exclude a branch, for the value and for the values under its keys. A value that matches the union matches one of the
 * returned branches. So if only one is left, the value matches that one.
 */
function possibleBranches(root: Schema, branches: readonly unknown[], value: unknown, spend: Spend): unknown[] {
  return branches.filter((branch) => canMatch(root, branch, value, spend, true));
}

function canMatch(root: Schema, branch: unknown, value: unknown, spend: Spend, looksInside: boolean): boolean {
  spend(1);
  if (typeof branch === 'boolean') return branch;
  let schema = branch;
  for (let count = 0; isObject(schema) && typeof schema['$ref'] === 'string'; count += 1) {
    if (!matchesItself(schema, value)) return false;
    if (count === MAX_REFERENCES) return true;
    schema = valueAt(root, schema['$ref']);
  }
  if (!isObject(schema)) return true; // not a schema: it excludes nothing
  if (!matchesItself(schema, value)) return false;
  return !looksInside || !isObject(value) || matchesKeys(root, schema, value, spend);
}

function matchesItself(schema: Schema, value: unknown): boolean {
  const types = [schema['type']].flat().filter((type) => typeof type === 'string');
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false;
  if (isScalar(schema['const']) && schema['const'] !== value) return false;
  const values = listOf(schema['enum']);
  return values.length === 0 || !values.every(isScalar) || values.includes(value);
}

function matchesKeys(root: Schema, schema: Schema, value: Schema, spend: Spend): boolean {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = listOf(schema['required']);
  spend(required.length);
  if (!required.every((key) => typeof key !== 'string' || Object.hasOwn(value, key))) return false;
  const isClosed = schema['additionalProperties'] === false && schema['patternProperties'] === undefined;
  return Object.keys(value).every((key) =>
    Object.hasOwn(properties, key) ? canMatch(root, properties[key], value[key], spend, false) : !isClosed,
  );
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
