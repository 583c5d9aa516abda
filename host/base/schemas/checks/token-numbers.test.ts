import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { checkedValue } from './checked-value.ts';
import { TokenNumbers } from './token-numbers.ts';

const Tokens = suite('a list of the numbers of tokens');

const LARGEST = 2_147_483_647;
const plain = z.array(z.int().min(0).max(LARGEST));
const right = fc.integer({ min: 0, max: LARGEST });
const odd = fc.constantFrom(-1, -0, 0.5, LARGEST + 1, NaN, Infinity, 2 ** 60, null, undefined, true, '1', [], [1], {});
/** At most one item is wrong. */
const list = fc
  .tuple(fc.array(right), fc.option(odd), fc.array(right))
  .map(([before, one, after]) => [...before, ...(one === null ? [] : [one]), ...after]);
const facts = (schema: z.core.$ZodType, input: unknown): unknown => {
  const { value: out, issues } = checkedValue(schema, input);
  const [{ path, message, code } = { path: [], message: '', code: '' }] = issues ?? [];
  return { out, path, message, code };
};

Tokens('is told the same as by zod’s own list', () => {
  for (const around of [
    (inner: z.core.$ZodType) => inner,
    (inner: z.core.$ZodType) => z.object({ prompt: z.union([z.string(), inner, z.array(z.string()), z.array(inner)]) }),
  ])
    fc.assert(
      fc.property(fc.oneof(list, right, odd), (input) => {
        const whole = around(plain) === plain ? input : { prompt: input };
        assert.equal(facts(around(TokenNumbers), whole), facts(around(plain), whole));
      }),
    );
  const bounds = [z.minLength(1), z.maxLength(3)] as const;
  for (const input of [[], [1], [1, 2, 3], [1, 2, 3, 4]])
    assert.equal(facts(TokenNumbers.check(...bounds), input), facts(plain.check(...bounds), input));
});

Tokens('is told by its first wrong number', () => {
  fc.assert(
    fc.property(list, fc.array(fc.oneof(right, odd)), (first, rest) => {
      const { issues } = checkedValue(TokenNumbers, first);
      if (issues) assert.equal(checkedValue(TokenNumbers, [...first, ...rest]).issues, issues);
    }),
  );
});

Tokens('has no work of zod for each number', () => {
  const { element } = TokenNumbers._zod.def;
  const { run } = element._zod;
  let runs = 0;
  element._zod.run = (...given) => ((runs += 1), run(...given));
  try {
    const many = Array.from({ length: 10_000 }, (_, n) => n);
    const Prompt = z.object({ prompt: z.union([z.string(), TokenNumbers.check(z.maxLength(1_000_000))]) });
    assert.is(checkedValue(Prompt, { prompt: many }).issues, undefined);
    assert.is(runs, 0);
    assert.ok(checkedValue(Prompt, { prompt: [...many, -1] }).issues);
    assert.is(runs, 1);
  } finally {
    element._zod.run = run;
  }
});

Tokens('has the JSON Schema of a list of integers', () => {
  const { $schema: _, ...schema } = z.toJSONSchema(TokenNumbers);
  assert.equal(schema, { type: 'array', items: { type: 'integer', minimum: 0, maximum: LARGEST } });
});

Tokens.run();
