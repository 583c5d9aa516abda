import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { VideoInput } from '../schemas/index.ts';
import { schemaExample } from './schema-example.ts';

const Example = suite('an example of a schema');

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'numbers with bounds': z.strictObject({ a: z.int().min(3), b: z.int().max(-3), c: z.number().gt(0).lt(1), d: z.number().multipleOf(5).min(7), e: z.number().lt(-2) }),
  'texts with lengths': z.strictObject({ a: z.string().min(30), b: z.string().max(2), c: z.string().length(8) }),
  'texts of a form': z.strictObject({ a: z.uuid(), b: z.email(), c: z.iso.datetime(), d: z.url(), e: z.ipv4(), f: z.iso.date() }),
  'texts of a pattern': z.strictObject({ a: z.string().regex(/^[a-z]{2,8}$/), b: z.string().regex(/^\d+$/) }),
  'lists with lengths': z.strictObject({ a: z.array(z.string()).min(3), b: z.array(z.int()).max(0), c: z.tuple([z.string(), z.int()]) }),
  'all of several': z.object({ a: z.string() }).and(z.object({ b: z.int() })),
  'one of several': z.strictObject({ a: z.union([z.null(), z.int()]), b: z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('x'), n: z.int() }), z.strictObject({ kind: z.literal('y') })]) }),
};

for (const [what, schema] of Object.entries(SCHEMAS)) {
  Example(`fits: ${what}`, () => {
    const example = schemaExample(z.toJSONSchema(schema, { io: 'input' }));
    const result = schema.safeParse(example);
    assert.ok(result.success, `${JSON.stringify(example)}: ${result.error?.message}`);
  });
}

Example('names a media as an uploaded file, or gives its address', () => {
  const schema = z.toJSONSchema(z.strictObject({ clip: VideoInput }), { io: 'input' });
  assert.equal(schemaExample(schema), { clip: { content: 'clip' } });
  assert.equal(schemaExample(schema, { files: false }), { clip: { url: 'https://example.com' } });
});

Example('tells what can be said where nothing must be', () => {
  assert.equal(schemaExample(z.toJSONSchema(z.strictObject({ top: z.int().default(5), note: z.string().optional() }), { io: 'input' })), { top: 5 });
});

Example('takes what the author gives', () => {
  assert.equal(schemaExample(z.toJSONSchema(z.strictObject({ who: z.string().meta({ examples: ['Ada'] }) }))), { who: 'Ada' });
});

Example.run();
