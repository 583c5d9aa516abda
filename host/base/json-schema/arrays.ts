import type { Budget } from './budget.ts';
import { keyOf } from './equal-values.ts';
import { type Finding, FINE, type Issue, issueOf, ISSUE_STEPS, under } from './issues.ts';
import { ANYTHING, type Compile, type Schema, type SchemaNode } from './node.ts';
import { wrongType } from './objects.ts';

/** Compiles `type: array`. */
export function arrayNode(schema: Schema, at: string, compile: Compile): SchemaNode {
  const { prefixItems, items } = schema;
  const form = Array.isArray(prefixItems)
    ? tuple(prefixItems, `${at}/prefixItems`, Array.isArray(items) ? false : items, `${at}/items`, schema, compile)
    : Array.isArray(items)
      ? tuple(items, `${at}/items`, schema['additionalItems'], `${at}/additionalItems`, schema, compile)
      : list(items === undefined ? undefined : compile(items, `${at}/items`), schema);
  return guarded(form, schema, at, compile);
}

function list(element: SchemaNode | undefined, schema: Schema): SchemaNode {
  const most = schema['maxItems'];
  return {
    check(value, budget) {
      if (!Array.isArray(value)) return sized(wrongType('array', budget), value, schema, budget);
      // The elements of a list that is too long are not checked.
      if (typeof most === 'number' && value.length > most)
        return { issues: [issueOf('too_big', { origin: 'array', maximum: most, inclusive: true, continue: false })] };
      if (!element) return sized(FINE, value, schema, budget);
      budget.spend(1 + value.length);
      let issues: Issue[] | undefined;
      for (const [n, item] of value.entries()) {
        const found = element.check(item, budget).issues;
        if (found.length > 0) (issues ??= []).push(...under(n, found));
      }
      return sized(issues ? { issues } : FINE, value, schema, budget);
    },
  };
}

/** Compiles a tuple: elements by position, and `rest` for the elements after them. */
function tuple(
  places: readonly unknown[],
  at: string,
  rest: unknown,
  restAt: string,
  schema: Schema,
  compile: Compile,
): SchemaNode {
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
  const nodes = places.map((inner, n) => compile(inner, `${at}/${n}`));
  const needed = nodes.reduce((sum, node, n) => (n < least && !node.mayBeAbsent ? n + 1 : sum), 0);
  const following = rest === false ? undefined : rest === undefined || rest === true ? ANYTHING : compile(rest, restAt);
  return {
    check(value, budget) {
      if (!Array.isArray(value)) return sized(wrongType('tuple', budget), value, schema, budget);
      budget.spend(1 + nodes.length + value.length);
      const issues: Issue[] = [];
      const wrongSize = (code: string, limit: object): void =>
        void issues.push(issueOf(code, { origin: 'array', inclusive: true, ...limit }));
      if (!following && value.length < needed) {
        wrongSize('too_small', { minimum: needed });
        return sized({ issues }, value, schema, budget);
      }
      if (!following && value.length > nodes.length) wrongSize('too_big', { maximum: nodes.length });
      const after = value
        .slice(nodes.length)
        .map((item, n) => [nodes.length + n, following?.check(item, budget).issues ?? []] as const);
      for (const [n, found] of after) issues.push(...under(n, found));
      const looked = nodes.slice(0, Math.max(least, value.length));
      let counted = value.length;
      for (const [n, node] of looked.entries()) {
        const found = node.check(value[n], budget).issues;
        if (n >= value.length && node.mayBeAbsent) counted = n + 1;
        issues.push(...under(n, found));
      }
      // Missing elements count as present if one of them has its own issue.
      if (issues.length > 0) counted = Math.max(counted, looked.length);
      return sized(issues.length > 0 ? { issues } : FINE, value, schema, budget, counted);
    },
  };
}

/** Checks `minItems` and `maxItems`. Like zod, it also checks a text that is given instead of a list. */
function sized(
  finding: Finding,
  value: unknown,
  { minItems: least, maxItems: most }: Schema,
  budget: Budget,
  counted?: number,
): Finding {
  if (
    (typeof least !== 'number' && typeof most !== 'number') ||
    finding.issues.some((issue) => issue.continue === false)
  )
    return finding;
  if (!Array.isArray(value) && typeof value !== 'string') return finding;
  const length = counted ?? (typeof value === 'string' ? [...value].length : value.length);
  const origin = typeof value === 'string' ? 'string' : 'array';
  const issues = [
    ...(typeof least === 'number' && length < least
      ? [issueOf('too_small', { origin, minimum: least, inclusive: true, continue: true })]
      : []),
    ...(typeof most === 'number' && length > most
      ? [issueOf('too_big', { origin, maximum: most, inclusive: true, continue: true })]
      : []),
  ];
  if (issues.length === 0) return finding;
  budget.spend(ISSUE_STEPS + finding.issues.length);
  return { issues: [...finding.issues, ...issues] };
}

/** Checks `uniqueItems`, `contains`, `minContains` and `maxContains`. A list that fails them is not checked further. */
function guarded(node: SchemaNode, schema: Schema, at: string, compile: Compile): SchemaNode {
  const {
    uniqueItems,
    contains,
    minContains: least = 1,
    maxContains: most,
  } = schema as { minContains?: number; maxContains?: number } & Schema;
  if (uniqueItems !== true && contains === undefined) return node;
  const wanted = contains === undefined ? undefined : compile(contains, `${at}/contains`);
  return {
    check(value, budget) {
      if (!Array.isArray(value)) return node.check(value, budget);
      const issues = uniqueItems === true ? duplicates(value, budget) : [];
      const say = (message: string): void => void issues.push(issueOf('custom', { message, continue: true }));
      if (wanted) {
        let matches = 0;
        for (const item of value)
          if (wanted.check(item, budget).issues.length === 0 && ++matches > (most ?? Number.POSITIVE_INFINITY)) break;
        if (matches < least) say(`Array must contain at least ${least} matching ${elements(least)}; found ${matches}`);
        if (most !== undefined && matches > most) say(`Array must contain at most ${most} matching ${elements(most)}`);
      }
      return issues.length > 0 ? { issues, aborted: true } : node.check(value, budget);
    },
  };
}

const elements = (count: number): string => (count === 1 ? 'element' : 'elements');

function duplicates(list: readonly unknown[], budget: Budget): Issue[] {
  const firstOf = new Map<string, number>();
  const issues: Issue[] = [];
  for (const [n, item] of list.entries()) {
    const key = keyOf(item, budget);
    const first = firstOf.get(key);
    if (first === undefined) firstOf.set(key, n);
    else {
      budget.spend(ISSUE_STEPS);
      issues.push({
        ...issueOf('custom', {
          message: `Array items must be unique: element at index ${n} duplicates the one at index ${first}`,
          continue: true,
        }),
        path: [n],
      });
    }
  }
  return issues;
}
