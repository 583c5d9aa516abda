import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { comment, printType, quoted } from './print-types.ts';

const Types = suite('types of JSON Schemas');
const print = (schema: unknown): string =>
  printType(schema, { nameOf: (reference) => reference.split('/').at(-1) ?? '' });

const CASES: readonly [schema: unknown, type: string][] = [
  [true, 'unknown'],
  [false, 'never'],
  [{}, 'unknown'],
  [{ type: 'string', pattern: 'a' }, 'string'],
  [{ type: 'string', 'x-aana-file': true }, 'FileInput'],
  [{ type: 'string', format: 'binary' }, 'Blob'],
  [{ type: ['integer', 'null'] }, 'number | null'],
  [{ type: ['number', 'integer'] }, 'number'],
  [{ const: "it's" }, "'it\\'s'"],
  [{ enum: ['a', 1, null] }, "'a' | 1 | null"],
  [{ $ref: '#/components/schemas/Shade' }, 'Shade'],
  [{ $ref: '#/components/schemas/Shade', description: 'beside it' }, 'Shade'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
  [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  [{ allOf: [{ $ref: '#/A' }, { oneOf: [{ $ref: '#/B' }, { $ref: '#/C' }] }] }, 'A & (B | C)'],
  [{ type: 'array' }, 'unknown[]'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
  [{ type: 'array', items: { enum: ['a', 'b'] } }, "('a' | 'b')[]"],
  [
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 2 },
    '[string, number]',
  ],
  [{ type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string?, ...number[]]'],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [
    { properties: { a: { type: 'string' }, 'b-c': { type: 'number', default: 1 } }, required: ['a'] },
    "{\n  a: string;\n  /** Default: 1. */\n  'b-c'?: number;\n}",
  ],
  [
    {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'null' } } } },
      additionalProperties: {},
    },
    '{\n  a?: {\n    b?: null;\n  };\n  [key: string]: unknown;\n}',
  ],
];

for (const [schema, type] of CASES)
  Types(`${JSON.stringify(schema)} is ${JSON.stringify(type)}`, () => assert.is(print(schema), type));

Types('a schema that contains itself has a type', () => {
  const schema: Record<string, unknown> = { type: 'array' };
  schema['items'] = schema;
  assert.match(print(schema), /^unknown(\[\])+$/);
});

Types('texts of a document cannot leave their comment or string', () => {
  assert.equal(comment('one */ process.exit() /*\nand\u2028two'), [
    '/**',
    ' * one *\\/ process.exit() /*',
    ' * and',
    ' * two',
    ' */',
  ]);
  for (const text of ["'", '\\', '"', '\n', '\u2028', "\\'", '${a}`'])
    assert.is(new Function(`return ${quoted(text)}`)(), text);
});

Types.run();
