import type { Budget } from './budget.ts';
import { type Finding, FINE, type Issue, issueOf, ISSUE_STEPS, under } from './issues.ts';
import type { LinearPattern } from './linear-pattern.ts';
import { ANYTHING, type Compile, isSchemaObject, type Schema, type SchemaNode } from './node.ts';
import { patternAt } from './scalars.ts';
import { allOfNode } from './unions.ts';

type Values = Readonly<Record<string, unknown>>;

/** Compiles `type: object`. */
export function objectNode(schema: Schema, at: string, compile: Compile): SchemaNode {
  const patterns = schema['patternProperties'] as object | undefined;
  const form = patterns ? withPatterns(schema, patterns, at, compile) : declared(schema, at, compile);
  return guarded(form, schema, at, compile);
}

/** Compiles `properties`, `required` and `additionalProperties`. */
function declared(schema: Schema, at: string, compile: Compile, isOpen = false): SchemaNode {
  const required = new Set((schema['required'] ?? []) as string[]);
  const given = schema['properties'] ?? {};
  const known = new Set(Object.keys(given));
  const properties = [
    ...Object.entries(given).map(([key, inner]) => ({
      ...{ key, isRequired: required.has(key) },
      node: compile(inner, `${at}/properties/${key}`),
    })),
    ...[...required].flatMap((key) => (known.has(key) ? [] : { key, isRequired: true, node: ANYTHING })),
  ];
  const additional = isOpen ? undefined : schema['additionalProperties'];
  const rest =
    additional === undefined || typeof additional === 'boolean'
      ? undefined
      : compile(additional, `${at}/additionalProperties`);
  const isClosed = additional === false || rest?.isNever === true;
  return {
    check(value, budget) {
      if (!isSchemaObject(value)) return wrongType('object', budget);
      budget.spend(1 + properties.length);
      let issues: Issue[] | undefined;
      for (const { key, node, isRequired } of properties) {
        const isPresent = Object.hasOwn(value, key);
        if (!isPresent && !isRequired) continue;
        const found = node.check(isPresent ? value[key] : undefined, budget).issues;
        if (found.length > 0) (issues ??= []).push(...under(key, found));
        else if (!isPresent && !node.mayBeAbsent)
          (issues ??= []).push({ ...issueOf('invalid_type', { expected: 'nonoptional' }), path: [key] });
      }
      const more = isClosed || rest ? checkRest(value, known, isClosed ? undefined : rest, budget) : undefined;
      if (more) (issues ??= []).push(...more);
      if (!issues) return FINE;
      budget.spend(ISSUE_STEPS + issues.length);
      return { issues };
    },
  };
}

/** Checks undeclared keys: there must be none, or their values must match `rest`. */
function checkRest(
  value: Values,
  known: ReadonlySet<string>,
  rest: SchemaNode | undefined,
  budget: Budget,
): Issue[] | undefined {
  const keys = Object.keys(value).filter((key) => !known.has(key));
  budget.spend(known.size + keys.length);
  if (!rest) return keys.length > 0 ? [issueOf('unrecognized_keys', { keys, continue: true })] : undefined;
  const issues = keys.flatMap((key) => under(key, rest.check(value[key], budget).issues));
  return issues.length > 0 ? issues : undefined;
}

/** Compiles `patternProperties`, which check the values of matching keys. */
function withPatterns(schema: Schema, patterns: object, at: string, compile: Compile): SchemaNode {
  const given = Object.entries(patterns).map(([source, inner]) => ({
    pattern: patternAt(source, `${at}/patternProperties`),
    node: compile(inner, `${at}/patternProperties/${source}`),
  }));
  const known = new Set(Object.keys(schema['properties'] ?? {}));
  const names = ((schema['required'] ?? []) as string[]).length;
  const parts = [
    ...(known.size > 0 || names > 0 ? [declared(schema, at, compile, true)] : []),
    ...given.map(({ pattern, node }) => matchingKeys(pattern, node)),
  ];
  const all = parts.length > 0 ? parts.reduce(allOfNode) : declared({}, at, compile);
  const additional = schema['additionalProperties'] ?? true;
  if (additional === true) return all;
  const rest = additional === false ? undefined : compile(additional, `${at}/additionalProperties`);
  return {
    check(value, budget) {
      const finding = all.check(value, budget);
      if (!isSchemaObject(value) || finding.issues.some((issue) => issue.continue !== true)) return finding;
      const keys = Object.keys(value).filter(
        (key) => !known.has(key) && !given.some(({ pattern }) => pattern.test(key, budget)),
      );
      if (rest) {
        const issues = keys.flatMap((key) => under(key, rest.check(value[key], budget).issues));
        return issues.length > 0 ? { issues: [...finding.issues, ...issues] } : finding;
      }
      return keys.length > 0 ? { issues: [...finding.issues, issueOf('unrecognized_keys', { keys })] } : finding;
    },
  };
}

function matchingKeys(pattern: LinearPattern, node: SchemaNode): SchemaNode {
  return {
    check(value, budget) {
      if (!isSchemaObject(value)) return wrongType('record', budget);
      const keys = Object.keys(value);
      budget.spend(1 + keys.length);
      const issues = keys.flatMap((key) =>
        pattern.test(key, budget) ? under(key, node.check(value[key], budget).issues) : [],
      );
      return issues.length > 0 ? { issues } : FINE;
    },
  };
}

/** Checks `minProperties`, `maxProperties` and `propertyNames`. An object that fails them is not checked further. */
function guarded(node: SchemaNode, schema: Schema, at: string, compile: Compile): SchemaNode {
  const { minProperties: least, maxProperties: most, propertyNames } = schema;
  const names =
    propertyNames === undefined || propertyNames === true
      ? undefined
      : compile(
          isSchemaObject(propertyNames) && propertyNames['type'] === undefined
            ? { type: 'string', ...propertyNames }
            : propertyNames,
          `${at}/propertyNames`,
        );
  if (typeof least !== 'number' && typeof most !== 'number' && !names) return node;
  return {
    check(value, budget) {
      if (!isSchemaObject(value)) return node.check(value, budget);
      const keys = Object.keys(value);
      budget.spend(1 + keys.length);
      const issues: Issue[] = [];
      const count = (code: string, limit: object, words: string): void =>
        void issues.push(
          issueOf(code, { origin: 'object', inclusive: true, message: words, continue: true, ...limit }),
        );
      if (typeof least === 'number' && keys.length < least)
        count('too_small', { minimum: least }, `Too small: expected object to have >=${least} properties`);
      if (typeof most === 'number' && keys.length > most)
        count('too_big', { maximum: most }, `Too big: expected object to have <=${most} properties`);
      for (const key of names ? keys : []) {
        if (names!.check(key, budget).issues.length === 0) continue;
        budget.spend(ISSUE_STEPS);
        issues.push({
          ...issueOf('invalid_key', { origin: 'record', message: 'Invalid key in record', continue: true }),
          path: [key],
        });
      }
      return issues.length > 0 ? { issues, aborted: true } : node.check(value, budget);
    },
  };
}

export function wrongType(expected: string, budget: Budget): Finding {
  budget.spend(ISSUE_STEPS);
  return { issues: [issueOf('invalid_type', { expected })] };
}
