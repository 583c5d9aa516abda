import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { validationEntries } from '../schemas/index.ts';
import { compileJsonSchema, TooComplex } from './index.ts';
import { UnusableSchema } from './node.ts';

type Json = Record<string, unknown>;

const RUNS = Number(process.env['AANA_SCHEMA_RUNS'] ?? 1000);

/** Returns zod's issues, without a limit of time. */
function reference(schema: object, value: unknown): unknown {
  const result = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
  return result.success ? [] : validationEntries(result.error.issues as never, value);
}

const entries = (schema: object, value: unknown): unknown =>
  validationEntries(compileJsonSchema(schema).issues(value), value);

const Check = suite('checks against a JSON Schema');

const many = (count: number, of: unknown): unknown[] => Array.from({ length: count }, () => of);
const keys = (count: number, of: unknown): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, of]));
const key = fc.constantFrom('a', 'b', 'c');
const small = fc.integer({ min: 0, max: 3 });

/** Schemas with every keyword, and references to two definitions. */
const { schema: anySchema } = fc.letrec<{ schema: Json; inner: Json }>((tie) => {
  const inner = tie('inner');
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> => arbitrary;
  const text = fc.record(
    {
      type: fc.constant('string'),
      minLength: optional(small),
      maxLength: small,
      pattern: fc.constantFrom('^a+$', 'b', '^.{2}$', '[/]'),
      format: fc.constantFrom('date', 'email', 'uuid', 'unknown'),
    },
    { requiredKeys: ['type'] },
  );
  const number = fc.record(
    {
      type: fc.constantFrom('number', 'integer'),
      minimum: small,
      exclusiveMaximum: small,
      multipleOf: fc.constantFrom(2, 0.5),
    },
    { requiredKeys: ['type'] },
  );
  const object = fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(key, inner, { maxKeys: 3 }),
      required: fc.uniqueArray(key, { maxLength: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), inner, fc.constant({ not: {} })),
      patternProperties: fc.constantFrom(
        ...[{ '^a': { type: 'string' } }, { b: { type: 'number' }, '^b': { minimum: 1, type: 'number' } }],
      ),
      propertyNames: fc.constantFrom<unknown>({ pattern: '^a' }, { maxLength: 0 }, true),
      minProperties: small,
      maxProperties: small,
    },
    { requiredKeys: ['type'] },
  );
  const array = fc.record(
    {
      type: fc.constant('array'),
      items: inner,
      prefixItems: fc.array(inner, { minLength: 1, maxLength: 2 }),
      minItems: small,
      maxItems: small,
      uniqueItems: fc.boolean(),
      contains: inner,
      minContains: small,
      maxContains: small,
    },
    { requiredKeys: ['type'] },
  );
  const composed = fc.oneof(
    fc.record({ anyOf: some }),
    fc.record({ oneOf: some }),
    fc.record({ allOf: some }),
    fc.record({ type: fc.constant('object'), anyOf: some }),
    fc.record({
      type: fc.constantFrom(['string', 'null'], ['number', 'array'], ['object', 'string']),
      maxLength: small,
      minItems: small,
      minimum: small,
    }),
    fc.record({ $ref: fc.constantFrom('#/$defs/x', '#/$defs/y') }),
    fc.constantFrom<Json>(
      {},
      { type: 'boolean' },
      { type: 'null' },
      { enum: ['a', 'b'] },
      { enum: ['a', 1, null] },
      { const: 1 },
      { const: 'a' },
      { enum: [] },
      { not: {} },
    ),
    inner.map((schema) => ({ ...schema, default: 'a' })),
    inner.map((schema) => ({ ...schema, description: 'said', readOnly: true })),
  );
  return {
    schema: fc.record({ of: inner, x: inner, y: inner }).map(({ of, x, y }) => ({ ...of, $defs: { x, y } })),
    inner: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.oneof(text, number),
      fc.oneof(text, number, object, array, composed),
    ),
  };
});

const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<unknown>('a', 'aa', 'ab', '', '/', 'b', '2026-01-31', 0, 1, 2, 0.5, -1, true, null),
    fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
})).value;

/** Returns a schema without the keywords that `z.fromJSONSchema` does not read at their place. */
function asZodReads(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asZodReads);
  if (typeof schema !== 'object' || schema === null) return schema;
  const read: Json = Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, asZodReads(inner)]));
  const { type, properties = {}, required, items, prefixItems, anyOf } = read;
  if (type === 'object' && anyOf !== undefined) return { anyOf };
  if (Array.isArray(required)) read['required'] = required.filter((name) => Object.hasOwn(properties as object, name));
  if (items === undefined && prefixItems === undefined) for (const size of ['minItems', 'maxItems']) delete read[size];
  // zod counts some that are missing as present
  if (Array.isArray(prefixItems)) for (const item of prefixItems) delete (item as Json)['default'];
  if (read['patternProperties'] !== undefined && typeof read['additionalProperties'] !== 'boolean')
    delete read['additionalProperties'];
  return read;
}

Check('return zod’s issues for every schema and value, as far as zod reads the schema', () => {
  let refusedByZod = 0;
  fc.assert(
    fc.property(
      anySchema.map(asZodReads) as typeof anySchema,
      fc.array(anyValue, { minLength: 1, maxLength: 5 }),
      (schema, values) => {
        for (const value of values) {
          let expected: unknown;
          try {
            expected = reference(schema, value);
          } catch {
            // A reference to itself overflows its stack; defaults of an intersection can contradict each other.
            refusedByZod++;
            continue;
          }
          const actual = entries(schema, value);
          assert.equal(actual, expected, JSON.stringify({ schema, value, actual, expected }));
        }
      },
    ),
    { numRuns: RUNS },
  );
  assert.ok(refusedByZod < RUNS / 2, `${refusedByZod} could not be compared`);
});

/** Schemas whose keywords stand at any place: without a type, and beside references, unions and values. */
const { schema: looseSchema } = fc.letrec<{ schema: Json; inner: Json }>((tie) => {
  const inner = tie('inner');
  const some = fc.array(inner, { minLength: 1, maxLength: 2 });
  const names = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object');
  const leaf: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(names, fc.uniqueArray(names, { minLength: 1, maxLength: 3 })),
    minLength: small,
    maxLength: small,
    pattern: fc.constantFrom('^a+$', 'b', '^.{2}$'),
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.constantFrom(2, 0.5),
    required: fc.uniqueArray(key, { maxLength: 2 }),
    minProperties: small,
    maxProperties: small,
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    minContains: small,
    maxContains: small,
    enum: fc.uniqueArray(anyValue, { minLength: 1, maxLength: 4, comparator: (a, b) => json(a) === json(b) }),
    const: anyValue,
    title: fc.constant('a title'),
    $ref: fc.constantFrom('#/$defs/x', '#/$defs/y'),
  };
  const nested: Record<string, fc.Arbitrary<unknown>> = {
    properties: fc.dictionary(key, inner, { maxKeys: 2 }),
    additionalProperties: fc.oneof(fc.boolean(), inner),
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b'), inner, { maxKeys: 2 }),
    propertyNames: inner,
    items: fc.oneof(fc.boolean(), inner),
    prefixItems: fc.array(inner, { minLength: 1, maxLength: 2 }),
    anyOf: some,
    oneOf: some,
  };
  const subset = (all: Record<string, fc.Arbitrary<unknown>>, most: number): fc.Arbitrary<Json> =>
    fc
      .shuffledSubarray(Object.keys(all), { minLength: 1, maxLength: most })
      .chain((keys) => fc.record(Object.fromEntries(keys.map((one) => [one, all[one]!]))));
  return {
    schema: fc
      .record({ of: inner, x: subset(leaf, 2), y: inner, contains: fc.option(inner, { nil: undefined }) })
      // ajv takes an empty list for `contains` beside `prefixItems` and below `items`, against the specification.
      .map(({ of, x, y, contains }) => ({
        ...{ ...of, $defs: { x: withoutRef(x), y } },
        ...(contains && !('prefixItems' in of) && { contains }),
      })),
    inner: fc.oneof({ maxDepth: 3, depthSize: 'small' }, subset(leaf, 3), subset({ ...leaf, ...nested }, 4)),
  };
});
const json = (value: unknown): string => JSON.stringify(value);
const withoutRef = ({ $ref: _ref, ...rest }: Json): Json => rest;

Check('find valid what ajv finds valid, wherever a keyword stands', () => {
  const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: false });
  const counts = { valid: 0, invalid: 0, refused: 0, unjudged: 0 };
  fc.assert(
    fc.property(looseSchema, fc.array(anyValue, { minLength: 1, maxLength: 6 }), (schema, values) => {
      for (const value of values) {
        let expected: boolean;
        let actual: boolean;
        try {
          expected = ajv.validate(schema, value);
        } catch (error) {
          // A reference to itself overflows its stack, and it fails for some patterns beside unions.
          assert.ok(error instanceof RangeError || error instanceof TypeError, String(error));
          counts.unjudged += 1;
          continue;
        }
        try {
          actual = compileJsonSchema(schema).issues(value).length === 0;
        } catch (error) {
          assert.ok(error instanceof TooComplex || error instanceof UnusableSchema, String(error));
          counts.refused += 1;
          continue;
        }
        counts[actual ? 'valid' : 'invalid'] += 1;
        assert.is(actual, expected, json({ schema, value }));
      }
    }),
    { numRuns: RUNS },
  );
  const all = Object.values(counts).reduce((sum, count) => sum + count);
  assert.ok(Math.min(counts.valid, counts.invalid) > all / 10, json(counts));
  assert.ok(Math.max(counts.refused, counts.unjudged) < all / 10, json(counts));
});

for (const [schema, message] of [
  [{ minLength: '3' }, '#/minLength cannot be used: it is not a number of at least 0'],
  [{ properties: { a: { required: true } } }, '#/properties/a/required cannot be used: it is not a list of texts'],
  [{ dependencies: {} }, '#/dependencies cannot be used: the keyword is not supported'],
  [{ type: 'object', additionalProperties: 5 }, '#/additionalProperties is not a schema'],
  [
    { enum: [{ a: 1 }], properties: { a: { $ref: '#' } } },
    '#/properties/a: enum and const cannot be checked by what they are a part of',
  ],
  [{ enum: many(100_000, 'a'), minLength: 2 }, 'the values of its enum and const take too much work to check'],
] as const)
  Check(`refuse what cannot be checked fully: ${message}`, () => {
    assert.throws(
      () => compileJsonSchema(schema),
      (error: unknown) => error instanceof UnusableSchema && error.message === message,
    );
  });

Check('check the key __proto__ as every other one', () => {
  const found = (schema: string, value: string): number =>
    compileJsonSchema(JSON.parse(schema)).issues(JSON.parse(value)).length;
  for (const schema of [
    '{"type":"object","additionalProperties":{"type":"string"}}',
    '{"patternProperties":{"^_":{"type":"string"}}}',
    '{"patternProperties":{"^a":{}},"additionalProperties":{"type":"string"}}',
    '{"properties":{"__proto__":{"type":"string"}}}',
  ]) {
    assert.is(found(schema, '{"__proto__":5}'), 1, schema);
    assert.is(found(schema, '{"__proto__":"a"}'), 0, schema);
  }
  assert.is(found('{"type":"object","additionalProperties":false}', '{"__proto__":5}'), 1);
  assert.is(found('{"required":["__proto__","constructor"]}', '{}'), 2);
});

Check('compile a schema with many types once for each', () => {
  const schema = { type: many(20_000, 'object'), properties: keys(10_000, { type: 'string' }) };
  assert.is(compileJsonSchema(schema).issues({ key1: 1 }).length, 1);
});

/** Returns definitions, one per letter, in which the next one is used twice. */
const doubling = (levels: number): Json => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, n) => [
      `d${n}`,
      n === levels ? { type: 'string' } : { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
});
const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels));

for (const [what, schema, value] of [
  ['references that double', doubling(40), 1],
  [
    'branches that each look at all that is below',
    {
      $ref: '#/$defs/x',
      $defs: {
        x: {
          anyOf: many(3, {
            type: 'object',
            properties: { a: { $ref: '#/$defs/x' }, b: { type: 'null' } },
            required: ['a', 'b'],
          }),
        },
      },
    },
    nested(60),
  ],
  ['a reference to itself', { $ref: '#/$defs/x', $defs: { x: { $ref: '#/$defs/x' } } }, 1],
  ['a branch of itself', { $ref: '#/$defs/x', $defs: { x: { anyOf: many(2, { $ref: '#/$defs/x' }) } } }, 1],
  [
    'a value that is deeper than the stack',
    { $ref: '#/$defs/x', $defs: { x: { type: 'object', properties: { a: { $ref: '#/$defs/x' } } } } },
    nested(100_000),
  ],
  ['a deep value that must be unique', { type: 'array', uniqueItems: true }, [nested(100_000), 1]],
  [
    'many required keys that many objects lack',
    {
      type: 'array',
      items: { type: 'object', properties: keys(5000, { type: 'string' }), required: Object.keys(keys(5000, 1)) },
    },
    many(100_000, {}),
  ],
  [
    'many patterns for many keys',
    {
      type: 'object',
      patternProperties: Object.fromEntries(many(300, 0).map((_, n) => [`^k.*${n}$`, { type: 'null' }])),
    },
    keys(100_000, null),
  ],
  ['a large pattern on a large text', { type: 'string', pattern: '^(?:[a-z]{1,300}[0-9])+$' }, 'a'.repeat(4e6)],
] as const) {
  Check(`end for ${what}`, () => {
    assert.throws(
      () => compileJsonSchema(schema).issues(value),
      (error: unknown) => error instanceof TooComplex,
      what,
    );
  });
}

Check('accept values as large as a request may be', () => {
  const word = {
    type: 'object',
    properties: { word: { type: 'string', pattern: '^\\S+$' }, start: { type: 'number', minimum: 0 } },
    required: ['word', 'start'],
    additionalProperties: false,
  };
  assert.equal(
    compileJsonSchema({ type: 'array', items: word }).issues(many(100_000, { word: 'transcribed', start: 1.5 })),
    [],
  );
  assert.equal(compileJsonSchema({ type: 'string', pattern: '^[A-Za-z0-9+/]*=*$' }).issues('a'.repeat(4e6)), []);
  assert.equal(
    compileJsonSchema({ type: 'array', uniqueItems: true, items: { type: 'integer' } }).issues(
      Array.from({ length: 400_000 }, (_, n) => n),
    ),
    [],
  );
});

Check('match an exponential pattern in linear time', () => {
  assert.equal(entries({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(100)}!`), [
    {
      type: 'string_pattern_mismatch',
      loc: [],
      msg: "String should match pattern '^(a+)+$'",
      input: `${'a'.repeat(100)}!`,
    },
  ]);
  for (const schema of [
    { propertyNames: { pattern: '^(a+)+$' } },
    { patternProperties: { '^(a+)+$': true }, additionalProperties: false },
  ]) {
    assert.is((entries({ type: 'object', ...schema }, { [`${'a'.repeat(100)}!`]: 1 }) as unknown[]).length, 1);
  }
});

for (const [what, type, text] of [
  ['an address of mail', z.email(), 'ada@example.org'],
  ['a duration', z.iso.duration(), 'P1DT2H'],
  ['a moment', z.iso.datetime({ offset: true }), '2026-01-31T10:00:00+01:00'],
  ['a day', z.iso.date(), '2026-01-31'],
  ['a time', z.iso.time(), '10:00:00'],
  ['a UUID', z.uuid(), '6f2c1c5e-4b0e-4f0e-9d7c-0b8f2f6f1f57'],
  ['a URL', z.url(), 'https://a.example/b'],
  ['an IPv4 address', z.ipv4(), '192.0.2.1'],
  ['an IPv6 address', z.ipv6(), '2001:db8::1'],
  ['a block of addresses', z.cidrv4(), '192.0.2.0/24'],
  ['a host name', z.hostname(), 'a.example'],
  ['base64', z.base64(), 'YWI='],
  ['base64 for URLs', z.base64url(), 'YWI'],
  ['a telephone number', z.e164(), '+49301234567'],
  ['a nanoid', z.nanoid(), 'V1StGXR8_Z5jdHi6B-myT'],
  ['a cuid2', z.cuid2(), 'tz4a98xxat96iws9zmbrgj3a'],
  ['a ULID', z.ulid(), '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['lower case', z.string().lowercase(), 'abc'],
  ['words of a template', z.templateLiteral([z.number(), 'px']), '12px'],
] as const) {
  Check(`${what}, as the SDK describes it, is taken`, () => {
    const check = compileJsonSchema(z.toJSONSchema(type, { io: 'input' }));
    assert.equal(check.issues(text), []);
    assert.ok(check.issues('A!').length > 0);
  });
}

for (const [what, schema, reason] of [
  [
    'a lookahead',
    { type: 'object', properties: { a: { type: 'string', pattern: '^(?=.*\\d).+$' } } },
    /^the pattern "\^\(\?=\.\*\\\\d\)\.\+\$" at #\/properties\/a\/pattern cannot be used: it has a lookahead/,
  ],
  [
    'a back reference for keys',
    { type: 'object', patternProperties: { '(a)\\1': {} } },
    /at #\/patternProperties cannot be used: it has a back reference/,
  ],
  ['a condition', { if: {} }, /^#\/if cannot be used/],
  ['not', { type: 'array', items: { not: { type: 'string' } } }, /^#\/items\/not cannot be used/],
  ['an unknown type', { anyOf: [{ type: 'text' }] }, /^#\/anyOf\/0\/type cannot be used: "text"/],
  ['a reference to a missing definition', { $ref: '#/$defs/a' }, /^#\/\$ref: there is no "#\/\$defs\/a"/],
  ['a reference to another document', { $ref: 'https://a.example/b' }, /there is no "https/],
  [
    'too much nesting',
    JSON.parse('{"type":"array","items":'.repeat(200) + '{}' + '}'.repeat(200)),
    /nested more than 100 levels deep/,
  ],
  ['too many characters', { description: 'x'.repeat(2 ** 21) }, /characters, but only 1048576 are allowed/],
] as const) {
  Check(`${what} is refused with its place`, () => {
    assert.throws(() => compileJsonSchema(schema), reason);
  });
}

Check.run();
