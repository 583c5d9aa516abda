import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { checkedValue } from './checked-value.ts';

/** Counts the values that it sees. */
function counting(): { readonly schema: z.ZodType; readonly visits: () => number } {
  let count = 0;
  const schema = z.custom((value) => {
    count += 1;
    return value === 'right';
  });
  return { schema, visits: () => count };
}

const wrong = Array<string>(100_000).fill('wrong');
const kinds: readonly { what: string; of: (item: z.ZodType) => z.ZodType; input: unknown }[] = [
  { what: 'a list', of: (item) => z.array(item), input: wrong },
  { what: 'a list of objects', of: (item) => z.array(z.object({ item })), input: wrong.map((item) => ({ item })) },
  { what: 'a list of lists', of: (item) => z.array(z.array(item)), input: wrong.map((item) => [item]) },
  { what: 'a list in an object', of: (item) => z.strictObject({ a: z.array(item), b: item }), input: { a: wrong } },
  { what: 'one of several forms', of: (item) => z.union([z.array(z.int()), z.array(item)]), input: wrong },
  { what: 'an optional list', of: (item) => z.object({ a: z.array(item).nullish() }), input: { a: wrong } },
  { what: 'a list that is transformed', of: (item) => z.array(item).transform((list) => list.length), input: wrong },
  { what: 'a longer list than may be', of: (item) => z.array(item).max(10), input: wrong },
];

const Checked = suite('a checked value');

for (const { what, of, input } of kinds) {
  Checked(`ends at the first mistake of ${what}`, () => {
    const { schema, visits } = counting();
    const { issues } = checkedValue(of(schema), input);
    assert.is(issues?.length, 1);
    assert.ok(visits() <= 2, `${visits()} values were visited`);
  });
}

Checked('has all mistakes of a small input', () => {
  const { schema } = counting();
  assert.is(checkedValue(z.array(schema), wrong.slice(0, 50)).issues?.length, 50);
});

Checked('is what the schema makes of the input', () => {
  const schema = z.object({ a: z.string().default('b') });
  assert.equal(checkedValue(schema, {}), { value: { a: 'b' }, issues: undefined });
});

Checked.run();
