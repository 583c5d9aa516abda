import * as z from 'zod';
import { Budget } from './budget.ts';
import { keyOf } from './equal-values.ts';
import { type Finding, FINE, ISSUE_STEPS, issueOf, type Issue } from './issues.ts';
import { LinearPattern } from './linear-pattern.ts';
import { type Schema, type SchemaNode, UnusableSchema } from './node.ts';

/** Steps for a value that zod checks. */
const LEAF_STEPS = 5;
/** Characters that the check of a format reads in one step. */
const CHARS_PER_STEP = 8;
/** Keywords that zod reads in schemas of these types, besides `pattern`. */
const KEYWORDS = [
  'type',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'enum',
  'const',
];

/** Compiles numbers, booleans, null, `enum` and `const`. Zod checks them in linear time. */
export function scalarNode(schema: Schema, at: string): SchemaNode {
  const leaf = leafOf(schema, at);
  const isFine = quickCheck(schema);
  const steps = LEAF_STEPS + (Array.isArray(schema['enum']) ? schema['enum'].length : 0);
  return {
    check(value, budget) {
      if (isFine?.(value)) return FINE;
      budget.spend(steps);
      return findingOf(leaf, value, budget);
    },
  };
}

export const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** Compiles a list of values, which may be objects and arrays. */
export function valuesNode(values: readonly unknown[], at: string): SchemaNode {
  const scalars = values.every(isScalar) ? scalarNode({ enum: values }, at) : undefined;
  if (scalars) return scalars;
  const texts = new Set(values.map((value) => keyOf(value, new Budget())));
  return {
    check(value, budget) {
      if (value !== undefined && texts.has(keyOf(value, budget))) return FINE;
      budget.spend(ISSUE_STEPS);
      return { issues: [issueOf('invalid_value', { values })] };
    },
  };
}

/** Returns a check that accepts most valid values without zod. */
function quickCheck(schema: Schema): ((value: unknown) => boolean) | undefined {
  const {
    type,
    minimum = Number.NEGATIVE_INFINITY,
    maximum = Number.POSITIVE_INFINITY,
  } = schema as { type?: unknown; minimum?: number; maximum?: number };
  if (['enum', 'const', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].some((keyword) => keyword in schema))
    return undefined;
  if (type === 'number')
    return (value) => typeof value === 'number' && value >= minimum && value <= maximum && Number.isFinite(value);
  if (type === 'integer')
    return (value) => Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
  return type === 'boolean' ? (value) => typeof value === 'boolean' : undefined;
}

/**
 * Compiles texts. Zod checks length and format. The pattern comes from the schema's author, so it needs a matcher with
 * bounded time.
 */
export function stringNode(schema: Schema, at: string): SchemaNode {
  const leaf = leafOf(schema, at);
  const source = schema['pattern'];
  const pattern = typeof source === 'string' && source !== '' ? patternAt(source, `${at}/pattern`) : undefined;
  const isPlain = !['format', 'minLength', 'maxLength', 'enum', 'const'].some((keyword) => keyword in schema);
  return {
    check(value, budget) {
      if (isPlain && !pattern && typeof value === 'string') return FINE;
      budget.spend(typeof value === 'string' ? LEAF_STEPS + value.length / CHARS_PER_STEP : LEAF_STEPS);
      const finding = findingOf(leaf, value, budget);
      if (!pattern || typeof value !== 'string' || pattern.test(value, budget)) return finding;
      return {
        issues: [
          ...finding.issues,
          issueOf('invalid_format', { origin: 'string', format: 'regex', pattern: pattern.source, continue: true }),
        ],
      };
    },
  };
}

/** Returns the pattern. Throws `UnusableSchema` if it cannot be matched in linear time. */
export function patternAt(source: string, at: string): LinearPattern {
  try {
    return new LinearPattern(source);
  } catch (cause) {
    throw new UnusableSchema(
      `the pattern ${JSON.stringify(source.slice(0, 200))} at ${at} cannot be used: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function leafOf(schema: Schema, at: string): z.core.$ZodType {
  const own = Object.fromEntries(KEYWORDS.flatMap((key) => (key in schema ? [[key, schema[key]]] : [])));
  try {
    return z.fromJSONSchema(own as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw new UnusableSchema(`${at}: ${(cause as Error).message}`, { cause });
  }
}

function findingOf(leaf: z.core.$ZodType, value: unknown, budget: Budget): Finding {
  const result = leaf._zod.run({ value, issues: [] }, { async: false });
  if (result instanceof Promise) throw new Error('a JSON schema cannot be asynchronous');
  if (result.issues.length === 0) return FINE;
  budget.spend(ISSUE_STEPS * result.issues.length);
  return {
    issues: result.issues.map(({ inst: _inst, input: _input, ...issue }): Issue => ({
      ...issue,
      message: issue.message ?? 'Invalid input',
      path: [...(issue.path ?? [])],
    })),
  };
}
