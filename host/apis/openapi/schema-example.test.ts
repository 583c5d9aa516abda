import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { VideoInput } from '../../base/schemas/index.ts';
import { schemaExample } from './schema-example.ts';

const Example = suite('an example of a schema');

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'numbers with bounds': z.strictObject({
    a: z.int().min(3),
    b: z.int().max(-3),
    c: z.number().gt(0).lt(1),
    d: z.number().multipleOf(5).min(7),
    e: z.number().lt(-2),
  }),
  'texts with lengths': z.strictObject({ a: z.string().min(30), b: z.string().max(2), c: z.string().length(8) }),
  'texts of a form': z.strictObject({
    a: z.uuid(),
    b: z.email(),
    c: z.iso.datetime(),
    d: z.url(),
    e: z.ipv4(),
    f: z.iso.date(),
  }),
  'texts of a pattern': z.strictObject({ a: z.string().regex(/^[a-z]{2,8}$/), b: z.string().regex(/^\d+$/) }),
  'lists with lengths': z.strictObject({
    a: z.array(z.string()).min(3),
    b: z.array(z.int()).max(0),
    c: z.tuple([z.string(), z.int()]),
  }),
  'all of several': z.object({ a: z.string() }).and(z.object({ b: z.int() })),
  'one of several': z.strictObject({
    a: z.union([z.null(), z.int()]),
    b: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('x'), n: z.int() }),
      z.strictObject({ kind: z.literal('y') }),
    ]),
  }),
};

for (const [what, schema] of Object.entries(SCHEMAS)) {
  Example(`fits: ${what}`, () => {
    const example = schemaExample(z.toJSONSchema(schema, { io: 'input' }));
    const result = schema.safeParse(example);
    assert.ok(result.success, `${JSON.stringify(example)}: ${result.error?.message}`);
  });
}

Example('gives a media as an uploaded file, or by its URL', () => {
  const schema = z.toJSONSchema(z.strictObject({ clip: VideoInput }), { io: 'input' });
  assert.equal(schemaExample(schema), { clip: { content: 'clip' } });
  assert.equal(schemaExample(schema, { files: false }), { clip: { url: 'https://example.com' } });
});

Example('shows optional keys with defaults if no key is required', () => {
  assert.equal(
    schemaExample(
      z.toJSONSchema(z.strictObject({ top: z.int().default(5), note: z.string().optional() }), { io: 'input' }),
    ),
    { top: 5 },
  );
});

Example('uses the values that the author gives', () => {
  assert.equal(schemaExample(z.toJSONSchema(z.strictObject({ who: z.string().meta({ examples: ['Ada'] }) }))), {
    who: 'Ada',
  });
});

const text = { type: 'string' };
const many = (of: object, count: number): object => ({ type: 'array', items: of, minItems: count });
const doubling = { $ref: '#/$defs/node' };
const LARGE: Readonly<Record<string, object>> = {
  'a long text': { ...text, minLength: 1e9 },
  'a long list': many(text, 1e9),
  'lists of lists': Array.from({ length: 12 }).reduce<object>((inner) => many(inner, 50), text),
  'many keys': { type: 'object', minProperties: 1e9 },
  'an object that holds two of itself': {
    ...doubling,
    $defs: { node: { type: 'object', required: ['a', 'b'], properties: { a: doubling, b: doubling } } },
  },
  'an object that may hold two of itself, or an address': {
    ...doubling,
    $defs: {
      node: { type: 'object', properties: { file: { 'x-aana-file': true }, a: doubling, b: doubling, url: text } },
    },
  },
  'a long default, many times': many({ ...text, default: 'x'.repeat(2000) }, 30),
  'a long text after a negative length': {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { ...text, minLength: -1e12 }, b: { ...text, minLength: 1e8 } },
  },
  'nothing that makes sense': { type: 'array', prefixItems: [null] },
};
for (const [what, schema] of Object.entries(LARGE)) {
  for (const files of [true, false]) {
    Example(`is not made where it would be ${what}${files ? '' : ', without files'}`, () => {
      const example = schemaExample(schema, { files });
      assert.ok(example === undefined || JSON.stringify(example).length < 100_000);
    });
  }
}

Example('does not run a pattern that takes for ever', () => {
  for (const pattern of ['^(a+)+$', '^((.+)+)+!$', '^(([a-z:/.]+)+)+!$', '^(?:(?:(?:[^!]*)*)*)*!$']) {
    assert.type(schemaExample({ type: 'string', pattern, minLength: 40 }), 'string', pattern);
    assert.type(schemaExample({ type: 'string', pattern }), 'string', pattern);
  }
});

Example.run();
