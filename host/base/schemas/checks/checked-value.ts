import * as z from 'zod/mini';
import type { SchemaIssue } from './validation.ts';

/** A value that its schema has made of an input, or the mistakes of the input. */
export type CheckedValue<Output> =
  | { readonly value: Output; readonly issues: undefined }
  | { readonly value: undefined; readonly issues: readonly SchemaIssue[] };

/** An input with more members and elements than this is told one mistake. */
const MOST_ELEMENTS = 1000;

/**
 * Checks an input against a schema. The check ends at the first mistake. It is repeated to find all mistakes if the
 * input is so small that they are few. So the work for a wrong input is bounded, whatever the schema is.
 */
export function checkedValue<Schema extends z.core.$ZodType>(
  schema: Schema,
  input: unknown,
): CheckedValue<z.core.output<Schema>> {
  const first = z.safeParse(schema, input, FIRST_MISTAKE);
  if (first.success) return { value: first.data, issues: undefined };
  const all = hasFewElements(input) ? z.safeParse(schema, input) : first;
  return { value: undefined, issues: (all.error ?? first.error).issues as unknown as SchemaIssue[] };
}

/**
 * Zod's own `validate` sets this option, which its types call internal. `checked-value.test.ts` counts what is visited.
 * The option `reportInput` is not used, because it multiplies the cost. Zod sets `async` in a copy, which is faster
 * where the member is there.
 */
const FIRST_MISTAKE = { abortEarly: true, async: false } as z.core.ParseContext<z.core.$ZodIssue>;

function hasFewElements(input: unknown): boolean {
  const open = [input];
  for (let count = 0; open.length > 0;) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const elements: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += elements.length;
    if (count > MOST_ELEMENTS) return false;
    open.push(...elements);
  }
  return true;
}
