import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { componentsOf, jsonSchemaOf } from './json-schema-of.ts';
import { NAMED_SCHEMAS } from './named-schemas.ts';

const JsonSchemaOf = suite('the JSON Schema of a route’s value');

const Named = z.object({ n: z.int().min(0) }).register(NAMED_SCHEMAS, { id: 'Named' });

JsonSchemaOf('refers to named schemas, and has them whole as components', () => {
  const reference = { $ref: '#/components/schemas/Named' };
  assert.equal(jsonSchemaOf(Named), reference);
  assert.equal(jsonSchemaOf(z.object({ all: z.array(Named) })).properties, {
    all: { type: 'array', items: reference },
  });
  assert.equal(componentsOf([Named]), [
    ['Named', { type: 'object', properties: { n: { type: 'integer', minimum: 0 } }, required: ['n'] }],
  ]);
});

JsonSchemaOf('leaves objects open unless they are strict', () => {
  assert.is(jsonSchemaOf(z.object({ a: z.string() })).additionalProperties, undefined);
  assert.is(jsonSchemaOf(z.strictObject({ a: z.string() })).additionalProperties, false);
});

JsonSchemaOf('is short: no patterns of formats and Unicode, no bounds of integers, one type for null', () => {
  const table: [schema: z.ZodType, expected: object][] = [
    [z.iso.datetime(), { type: 'string', format: 'date-time' }],
    [z.string().regex(/^\p{L}$/u), { type: 'string' }],
    [z.string().regex(/^\w$/), { type: 'string', pattern: '^\\w$' }],
    [z.int(), { type: 'integer' }],
    [z.int().nullable().describe('n'), { type: ['integer', 'null'], description: 'n' }],
    [z.looseObject({}).nullable(), { type: ['object', 'null'] }],
    [z.enum(['a']).nullable(), { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }],
    [z.record(z.string(), z.int()), { type: 'object', additionalProperties: { type: 'integer' } }],
  ];
  for (const [schema, expected] of table) assert.equal(jsonSchemaOf(schema), expected);
});

JsonSchemaOf.run();
