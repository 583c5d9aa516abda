import type { Budget } from './budget.ts';

/** Returns JSON with sorted object members, so that equal values have equal texts. Its work counts in the budget. */
export function keyOf(value: unknown, budget: Budget): string {
  budget.spend(typeof value === 'string' ? 1 + value.length / 8 : 1);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  budget.enter();
  const parts = Array.isArray(value)
    ? value.map((item) => keyOf(item, budget))
    : Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, item]) => `${keyOf(key, budget)}:${keyOf(item, budget)}`);
  budget.leave();
  const text = Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
  budget.spend(text.length / 32); // each level copies the texts of the levels below it
  return text;
}
