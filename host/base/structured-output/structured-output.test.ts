// Grammars of schemas, patterns and lists, read by the engine's own code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { packageRoot } from '../core/package-root.ts';
import { skip } from '../../test/skip.ts';
import { cannotCheck, GrammarCheck } from './fixtures/grammar-check.ts';
import { structuredGrammar, UnusableStructure } from './index.ts';
import { numbersBetween } from './numbers.ts';

const Structured = suite('grammars of structured output');
let check: GrammarCheck;

Structured.before(() => void (check = new GrammarCheck()));
Structured.after(() => check?.close());

async function expectTexts(grammar: string, good: readonly string[], bad: readonly string[]): Promise<void> {
  for (const text of good) assert.is(await check.takes(grammar, text), true, `${text} is not taken\n${grammar}`);
  for (const text of bad) assert.is(await check.takes(grammar, text), false, `${text} is taken\n${grammar}`);
}

async function expectValues(schema: unknown, good: readonly string[], bad: readonly string[]): Promise<void> {
  await expectTexts(structuredGrammar({ json: schema, strict: true }).text, good, bad);
}

const nested = (depth: number): string => '{"items":'.repeat(depth) + 'true' + '}'.repeat(depth);

function refusal(schema: unknown): string {
  try {
    structuredGrammar({ json: schema, strict: true });
  } catch (error) {
    assert.instance(error, UnusableStructure);
    return (error as Error).message;
  }
  return 'none';
}

Structured('take values of each type', async () => {
  const any = ['{}', '[]', '"a"', '-1.5e3', 'true', 'null', '{"a": [1, {"b": "\\u00e9\\ud83d\\ude00é"}]}'];
  await expectValues(true, any, ['', '{', '01', '"\n"', '{"a"}', "'a'", 'nul', '"\\ud83d"', '"\\x"', '[1,]']);
  await expectValues({}, any, ['x']);
  await expectValues({ type: 'string' }, ['"a"', '""'], ['1', 'null']);
  await expectValues({ type: 'integer' }, ['0', '-12'], ['1.5', '1.0', '01', '+1', '']);
  await expectValues({ type: ['boolean', 'null'] }, ['true', 'false', 'null'], ['0', '"true"']);
  await expectValues({ type: ['integer', 'number'] }, ['1', '1.5'], ['"1"']);
  await expectTexts(structuredGrammar({ json_object: true }).text, ['{}', '{"a": 1}'], ['[]', '1']);
});

Structured('take the properties of an object in their order', async () => {
  const properties = { a: { type: 'integer' }, 'b"': { type: 'null' }, c: { type: 'boolean' } };
  await expectValues(
    { type: 'object', properties, required: ['b"'] },
    ['{"b\\"":null}', '{"a": 1, "b\\"": null, "c": true}', '{\n  "b\\"": null,\n  "c": false\n}'],
    ['{}', '{"a":1}', '{"b\\"":null,"a":1}', '{"b\\"":null,"d":1}', '{"a":1,"a":1,"b\\"":null}', '{"b\\"":null,}'],
  );
  await expectValues({ properties }, ['{}', '{"c":true}', '{"a":1,"c":true}'], ['{"c":1}', '1', '{,"c":true}']);
  await expectValues({ required: ['x'] }, ['{"x":[]}'], ['{}']);
  await expectValues({ type: 'object', additionalProperties: false }, ['{}', '{ }'], ['{"a":1}']);
  const open = { properties: { ab: { type: 'null' } }, additionalProperties: { type: 'integer' } };
  await expectValues(
    open,
    ['{"a":1,"b":2,"abc":3,"":4}', '{"ab":null,"a":1}'],
    ['{"ab":1}', '{"a":1,"ab":2}', '{"\\u0061b":1}'],
  );
  const escaped = { properties: { 'a\\b': true, 'a"': true, 'a\n': true }, additionalProperties: true };
  await expectValues(
    escaped,
    ['{"a":1,"ab":2}', '{"a\\\\b":1,"b":1}'],
    ['{"a\\b":1}', '{"a"":1}', '{"a\n":1}', '{"a\\c":1}'],
  );
  const map = { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 };
  await expectValues(map, ['{"a":1}', '{"a":1,"b":2}'], ['{}', '{"a":1,"b":2,"c":3}']);
  await expectValues({ type: 'object', properties: { a: false, b: true } }, ['{"b":1}', '{}'], ['{"a":1}']);
  await expectValues(
    { properties: { toString: { const: 1 } }, allOf: [{ properties: { x: true } }] },
    ['{"toString":1,"x":2}'],
    ['{"toString":2}'],
  );
});

Structured('leave out each place of a reference to a schema without values', async () => {
  const $defs = {
    never: false,
    a: { type: 'object', properties: { b: { $ref: '#/$defs/b' }, z: false }, required: ['z'] },
    b: { type: 'object', properties: { a: { $ref: '#/$defs/a' }, c: true } },
  };
  const [never, a, b] = ['never', 'a', 'b'].map((name) => ({ $ref: `#/$defs/${name}` }));
  await expectValues({ properties: { a: never, b: never }, $defs }, ['{}'], ['{"a":}', '{"b":}']);
  await expectValues({ properties: { a, b }, $defs }, ['{}', '{"b":{"c":1}}'], ['{"b":{"a":}}', '{"b":{"a":{}}}']);
});

Structured('take the items of an array', async () => {
  const items = { type: 'integer' };
  await expectValues({ type: 'array', items }, ['[]', '[1, 2,3]'], ['["a"]', '[1 2]']);
  await expectValues(
    { type: 'array', items, minItems: 2, maxItems: 3 },
    ['[1,2]', '[1,2,3]'],
    ['[]', '[1]', '[1,2,3,4]'],
  );
  const prefixItems = [{ type: 'null' }, { type: 'boolean' }];
  await expectValues({ prefixItems, items: false }, ['[]', '[null]', '[null,true]'], ['[true]', '[null,true,1]']);
  await expectValues({ prefixItems, items, minItems: 1 }, ['[null]', '[null,true,1,2]'], ['[]', '[null,1]']);
  await expectValues(
    { items: prefixItems, additionalItems: items, maxItems: 3 },
    ['[null,true,1]'],
    ['[null,true,1,2]'],
  );
});

Structured('count the characters of a string and read its pattern', async () => {
  await expectValues(
    { type: 'string', minLength: 2, maxLength: 3 },
    ['"ab"', '"😀é\\n"', '"\\ud83d\\ude00b"'],
    ['"a"', '"😀"', '"abcd"'],
  );
  await expectValues({ pattern: '^a[^b"]+$' }, ['"ac"', '"a\\\\"', '"a\\n"'], ['"a"', '"ab"', '"a\\""', '"xa"']);
  await expectValues({ type: 'string', pattern: 'b|^c' }, ['"abc"', '"cx"', '"b"'], ['"a"', '"ac"']);
  await expectValues({ pattern: '^"\\\\/$' }, ['"\\"\\\\/"'], ['"\\\\/"']);
  await expectValues({ type: 'string', pattern: '^[a-z]{2,4}$', minLength: 1, maxLength: 9 }, ['"ab"'], ['"a"']);
  assert.match(
    refusal({ type: 'string', pattern: 'a', maxLength: 3 }),
    /"maxLength" is not supported beside "pattern"/,
  );
  await expectValues(
    { format: 'date-time' },
    ['"2024-12-31T23:59:59Z"'],
    ['"2024-02-30T00:00:00Z"', '"2024-13-01T00:00:00Z"', '"x"'],
  );
  await expectValues({ format: 'ipv4' }, ['"127.0.0.1"'], ['"256.0.0.1"', '"01.2.3.4"']);
});

Structured('take the schemas of zod', async () => {
  const zod = (type: z.ZodType): unknown => z.toJSONSchema(type);
  await expectValues(zod(z.email()), ['"a.b@example.com"'], ['"a"', '"a@b"']);
  await expectValues(
    zod(z.uuidv4()),
    ['"0c667ceb-16a5-4504-830c-285f44f7cc34"'],
    ['"0c667ceb-16a5-1504-830c-285f44f7cc34"'],
  );
  await expectValues(zod(z.iso.datetime()), ['"2024-02-29T00:00:00Z"'], ['"2023-02-29T00:00:00Z"', '"2024-01-01"']);
  await expectValues(zod(z.iso.duration()), ['"P1DT2H"', '"P3W"'], ['"P"', '"1D"']);
  await expectValues(zod(z.hostname()), ['"www.example.com"'], ['"-a.com"', '""']);
  await expectValues(zod(z.record(z.string(), z.int())), ['{"a":1}', '{}'], ['{"a":"b"}']);
  await expectValues(zod(z.string().startsWith('ab').min(2)), ['"abc"'], ['"b"']);
  const kinds = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('a'), n: z.int().positive() }),
    z.object({ kind: z.literal('b') }),
  ]);
  await expectValues(zod(kinds), ['{"kind":"a","n":1}', '{"kind":"b"}'], ['{"kind":"b","n":1}', '{"kind":"a","n":0}']);
});

Structured('take exactly the numbers between their bounds', async () => {
  const random = [0, 1, -1, 0.5, -0.25, 10, 99.99, 100, -100, 123.456, 1000, -0.001, 7, 19, 20];
  const texts = [
    ...random,
    2,
    5,
    9,
    11,
    50,
    101,
    999,
    1001,
    0.49,
    0.51,
    123.4561,
    123.45,
    -0.002,
    -99.5,
    6.999,
    7.001,
  ].map(String);
  for (const min of random) {
    for (const max of random) {
      for (const isExclusive of [false, true]) {
        for (const isInteger of [false, true]) {
          const numbers = numbersBetween({ value: min, isExclusive }, { value: max, isExclusive }, isInteger);
          const isMet = (value: number): boolean =>
            (isExclusive ? min < value && value < max : min <= value && value <= max) &&
            (!isInteger || Number.isInteger(value));
          for (const text of texts) {
            const isTaken = numbers !== undefined && (await check.takes(`root ::= ${numbers}`, text)) === true;
            assert.is(
              isTaken,
              isMet(Number(text)),
              `${text} from ${min} to ${max}, ${isExclusive}, ${isInteger}: ${numbers}`,
            );
          }
        }
      }
    }
  }
  await expectValues({ type: 'integer', minimum: 10 }, ['10', '999'], ['9', '-10']);
  await expectValues({ type: 'number', maximum: -1.5 }, ['-1.5', '-2', '-1.51'], ['-1.4', '1', '0']);
  await expectValues({ type: 'number', exclusiveMinimum: 0 }, ['0.001', '1'], ['0', '0.0', '-1', '-0']);
  await expectValues({ type: 'integer', minimum: -1e300, maximum: 1e300 }, ['0', '-5'], []);
  const long = { type: 'number', minimum: 0.1234567890123456, maximum: 31.884999999999998 };
  await expectValues(long, ['0.1234567890124', '31.884'], ['0.1234567890123', '31.885', '32', '0.1']);
});

Structured('join schemas', async () => {
  await expectValues({ enum: ['a', 1, { b: [] }] }, ['"a"', '1', '{"b":[]}'], ['"b"', '2']);
  await expectValues({ enum: ['a', 1, 2], type: 'integer', minimum: 2 }, ['2'], ['1', '"a"']);
  await expectValues({ anyOf: [{ type: 'null' }, { const: 'é' }] }, ['null', '"é"'], ['"e"']);
  const base = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
  await expectValues(
    { allOf: [base, { properties: { a: { minimum: 5 }, b: true } }] },
    ['{"a":5,"b":0}'],
    ['{"a":4}', '{"b":0}'],
  );
  await expectValues(
    { ...base, anyOf: [{ properties: { b: { const: 1 } }, required: ['b'] }, { properties: { a: { const: 7 } } }] },
    ['{"a":1,"b":1}', '{"a":7}'],
    ['{"a":1}'],
  );
  const tree = {
    type: 'object',
    properties: { value: true, children: { type: 'array', items: { $ref: '#' } } },
    required: ['children'],
    additionalProperties: false,
  };
  await expectValues(tree, ['{"children":[]}', '{"value":1,"children":[{"children":[]}]}'], ['{"children":[1]}']);
  await expectValues({ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'null' } } }, ['null'], ['1']);
  const kind = (name: string): object => ({
    type: 'object',
    properties: { kind: { const: name } },
    required: ['kind'],
  });
  await expectValues(
    { oneOf: [kind('a'), kind('b'), { type: 'string' }] },
    ['{"kind":"a"}', '"x"'],
    ['{"kind":"c"}', '1'],
  );
});

Structured('ignore annotations, also those that JSON Schema does not know', async () => {
  const annotations = {
    ...{ title: 'A', examples: ['a'], deprecated: true, readOnly: true, writeOnly: true, default: 'a' },
    ...{ contentMediaType: 'application/json', contentEncoding: 'base64', contentSchema: { type: 'null' } },
    ...{ 'x-ui': 'textarea', propertyOrdering: ['a'], discriminator: { propertyName: 'a' }, nullable: true },
    ...{ else: false, minContains: 3 }, // they say nothing without `if` and `contains`
  };
  for (const format of ['path', 'password', 'binary', 'ipvanyaddress', 'regex', 'x', 5])
    await expectValues({ type: 'string', format, ...annotations }, ['""', '"a"'], ['1', 'null']);
  await expectValues({ type: 'integer', format: 'int32', ...annotations }, ['1'], ['"1"']);
  await expectValues({ format: 'int64', ...annotations }, ['1', '"a"', 'null'], ['x']);
});

Structured('leave out what they cannot hold unless they are strict, and name it', async () => {
  const cases: readonly (readonly [schema: unknown, unbound: string[], good: string[], bad: string[]])[] = [
    [{ type: 'array', items: { type: 'null' }, uniqueItems: true }, ['#/uniqueItems'], ['[null,null]'], ['[1]']],
    [{ type: 'integer', minimum: 0, multipleOf: 5, not: { const: 0 } }, ['#/not', '#/multipleOf'], ['3'], ['-1']],
    [{ type: 'array', items: { type: 'null' }, contains: {}, maxItems: 1 }, ['#/contains'], ['[]'], ['[null,null]']],
    [
      { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string', pattern: '(?=a)' } } },
      ['#/$defs/a/pattern'],
      ['{"a":"x"}'],
      ['{"a":1}'],
    ],
    [{ type: 'string', pattern: '^a+$', maxLength: 3 }, ['#/maxLength'], ['"aaaa"'], ['"b"']],
    [{ oneOf: [{ type: 'integer' }, { type: 'number', minimum: 2 }] }, ['#/oneOf'], ['3', '2.5'], ['"a"', '1.5']],
    [
      { type: 'object', properties: { a: { type: 'null' }, b: { type: 'null' } }, maxProperties: 1 },
      ['#/maxProperties'],
      ['{"a":null,"b":null}'],
      ['{"a":1}'],
    ],
    [{ type: 'object', properties: { a: { type: 'text' } } }, ['#/properties/a', '#'], ['{"a":[1]}'], ['1']],
    [{ type: 'array', items: { type: 'null' }, minItems: 1 }, [], ['[null]'], ['[]']],
  ];
  for (const [schema, unbound, good, bad] of cases) {
    const made = structuredGrammar({ json: schema });
    assert.equal(made.unbound, unbound, JSON.stringify(schema));
    await expectTexts(made.text, good, bad);
    if (unbound.length > 0) assert.is.not(refusal(schema), 'none', JSON.stringify(schema));
  }
  const long = structuredGrammar({ json: { type: 'string', minLength: 1, maxLength: 50_000 } });
  assert.equal(long.unbound, ['#/maxLength']);
  await expectTexts(long.text, ['"a"'], ['""']);
});

Structured('refuse a wrong reference also where they need not be strict', () => {
  for (const reference of ['#', '#/$defs/none', 'http://example.com/a', 'file:///etc/passwd'])
    assert.throws(() => structuredGrammar({ json: { $ref: reference } }), /^#: the reference /, reference);
});

Structured('take the schemas of the types of pydantic', () => {
  const { schemas } = JSON.parse(
    readFileSync(join(packageRoot, 'host/base/structured-output/fixtures/pydantic-schemas.json'), 'utf8'),
  ) as { schemas: Record<string, unknown> };
  const unbound = Object.entries(schemas).map(([name, json]) => [name, structuredGrammar({ json }).unbound] as const);
  assert.equal(Object.fromEntries(unbound.filter(([, places]) => places.length > 0)), {
    'set[str]': ['#/properties/v/uniqueItems'],
    'frozenset[Enum]': ['#/properties/v/uniqueItems'],
    multiple_of: ['#/properties/v/multipleOf'],
    'dict[Literal, int]': ['#/properties/v/propertyNames'],
    'dict[UUID, int]': ['#/properties/v/propertyNames'],
  });
});

Structured('refuse what they cannot express, by place and name', () => {
  for (const [schema, pattern] of [
    [{ type: 'object', properties: { a: { not: {} } } }, /^#\/properties\/a: the keyword "not" is not supported/],
    [{ patternProperties: {} }, /^#: the keyword "patternProperties"/],
    [{ type: 'array', uniqueItems: true }, /"uniqueItems"/],
    [{ type: 'array', contains: {} }, /"contains"/],
    [{ multipleOf: 0.01 }, /"multipleOf"/],
    [{ oneOf: [{ type: 'integer' }, { minimum: 2 }] }, /"oneOf" is supported only where/],
    [{ pattern: '^(?=a)' }, /^#\/pattern: the pattern has a lookahead/],
    [{ pattern: '(a)\\1' }, /back reference/],
    [{ pattern: 'a\\b' }, /has \\b/],
    [{ pattern: '(' }, /Invalid regular expression/],
    [{ $ref: 'http://example.com/a' }, /does not begin with "#\/"/],
    [{ $ref: '#/$defs/a' }, /leads nowhere/],
    [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, /leads to itself/],
    [{ allOf: [{ $ref: '#' }, { type: 'object' }] }, /too complex/],
    [false, /no value is possible/],
    [{ type: 'string', enum: [1] }, /no value of "enum"/],
    [{ type: 'integer', minimum: 2, maximum: 1 }, /no number is between/],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 1 }, /at least 2 and at most 1/],
    [{ type: 'object', required: ['a'], additionalProperties: false }, /required property "a"/],
    [{ type: 'text' }, /"text" is not a type/],
    [5, /not a schema/],
    ['{"type":', /^json: it is not JSON/],
    ['['.repeat(100_000) + ']'.repeat(100_000), /nested too deep/],
    [nested(1000), /too complex/],
  ] as const)
    assert.match(refusal(schema), pattern, JSON.stringify(schema));
});

Structured('take whole texts of a pattern or of a list', async () => {
  await expectTexts(
    structuredGrammar({ regex: '(\\w+)@x\\.(com|org)' }).text,
    ['a_1@x.com'],
    ['a@x.comx', ' a@x.com', '@x.org'],
  );
  await expectTexts(structuredGrammar({ regex: '^[^\\d\\s]{2}.?$|é+?' }).text, ['ab', 'ab!', 'éé'], ['a1', 'ab\n']);
  await expectTexts(
    structuredGrammar({ choice: ['yes', 'no "x"\\\n', 'y'] }).text,
    ['yes', 'no "x"\\\n', 'y'],
    ['ye', ''],
  );
  await expectTexts(structuredGrammar({ grammar: 'root ::= "a"' }).text, ['a'], ['b']);
  assert.throws(() => structuredGrammar({ regex: 'a(?<!b)' }), /^regex: the pattern has a lookbehind/);
});

if (cannotCheck === undefined) Structured.run();
else skip('grammars of structured output', cannotCheck);
