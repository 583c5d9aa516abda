// Schemas as data: a form and the host's check of the JSON Schema accept what zod accepts, and make the same of it.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod/mini';
import * as classic from 'zod';
import { compileJsonSchema, type JsonSchemaCheck } from '../../../base/json-schema/index.ts';
import { bytesAnswer, FileInput, textAnswer, validationEntries } from '../../../base/schemas/index.ts';
import { type FormMismatch, inForm } from '../../sdk/guest/form.ts';
import { formOf } from '../../sdk/guest/form-of.ts';

const Forms = suite('forms of schemas');

/** A default as the build sees it: with the fact whether a function computes it. */
function withDefault<S extends z.ZodMiniType>(inner: S, value: unknown) {
  const schema = z._default(inner as z.ZodMiniType, value as never);
  Object.assign(schema._zod.def, { isComputed: typeof value === 'function' });
  return schema;
}

const member = z.object({ name: z.string(), size: z.optional(z.number()) });
const schemas: readonly z.ZodMiniType[] = [
  z.object({ text: z.string().check(z.minLength(2), z.maxLength(4)), n: z.int().check(z.minimum(1)) }),
  z.strictObject({ text: z.string(), more: z.optional(z.nullable(z.boolean())) }),
  z.looseObject({ text: withDefault(z.string(), 'default'), n: withDefault(z.nullable(z.number()), null) }),
  z.object({ list: z.array(member).check(z.minLength(1)), options: withDefault(member, { name: 'x' }) }),
  z.object({ map: z.record(z.string(), z.nullable(z.number())), any: z.optional(z.unknown()) }),
  z.object({ kind: z.enum(['a', 'b']), flag: z.literal([true, 1, 'yes']) }),
  z.object({ one: z.union([z.string(), z.number(), z.null()]), none: z.null() }),
  z.object({ n: z.number().check(z.multipleOf(0.5), z.lt(10)), text: z.string().check(z.regex(/^[a-z]+\.\d$/)) }),
  classic.object({ text: classic.string().min(2), list: classic.array(classic.int()).optional() }) as never,
  z.object({ text: FileInput, one: z.optional(bytesAnswer('image/png')), any: z.optional(textAnswer('text/csv')) }),
  z.nullable(member),
  z.array(z.union([z.string(), z.number()])),
  z.string(),
];
const scalars = [undefined, null, true, 1, 1.5, -3, Number.NaN, Infinity, '', 'a', 'abc', 'ab.1', 'yes', '😀'];
const odd = [new Date(0), new Map([['a', 1]]), new Uint8Array(2), () => 1, [undefined], { toJSON: () => 'x' }];
const values: readonly unknown[] = [
  ...scalars,
  ...odd,
  [],
  {},
  ...['text', 'n', 'more', 'list', 'options', 'map', 'any', 'kind', 'flag', 'one', 'none'].flatMap((key) =>
    [...scalars, ...odd, ['x'], [1, null], { name: 'n' }, { name: 'n', size: 2, extra: 1 }, { b: 1, a: 2 }]
      .flatMap((value) => [value, [value], { name: value }])
      .flatMap((value) => [
        { [key]: value },
        { extra: 1, none: null, one: 1, map: {}, list: [], flag: 1, kind: 'b', n: 5, text: 'abc', [key]: value },
        { options: { size: 1, name: 'n' }, list: [{ size: 1, name: 'n' }], text: 'ab.1', n: 0.5, [key]: value },
      ]),
  ),
];

/** Returns the JSON that the host takes, or the types of mismatches by their places. */
function outcome(check: JsonSchemaCheck, made: { value: unknown } | { mismatches: readonly FormMismatch[] }) {
  if ('mismatches' in made) return { places: made.mismatches.map(({ loc }) => JSON.stringify(loc)).toSorted() };
  const json = JSON.stringify(made.value) ?? 'null';
  const entries = validationEntries(check.issues(JSON.parse(json)), JSON.parse(json));
  return entries.length > 0 ? { places: entries.map(({ loc }) => JSON.stringify(loc)).toSorted() } : { json };
}

Forms('and the check of the host give what zod gives', () => {
  let accepted = 0;
  for (const schema of schemas) {
    const form = formOf(schema);
    const text = JSON.stringify(z.toJSONSchema(schema));
    assert.ok(form, text);
    const check = compileJsonSchema(z.toJSONSchema(schema, { io: 'output' }));
    for (const value of values) {
      const parsed = z.safeParse(schema, value);
      const expected = outcome(
        check,
        parsed.success
          ? { value: parsed.data }
          : {
              mismatches: validationEntries(parsed.error.issues as never, value).map(({ type, loc }) => ({
                type,
                loc,
              })),
            },
      );
      const mismatches: FormMismatch[] = [];
      const made = inForm(form, value, mismatches);
      const found = outcome(check, mismatches.length > 0 ? { mismatches } : { value: made });
      const about = `${text} of ${JSON.stringify(value)}`;
      if ('json' in expected || 'json' in found) assert.is(found.json, expected.json, about);
      else
        assert.ok(
          found.places.every((place) => expected.places.includes(place)),
          about,
        );
      if ('json' in found) accepted++;
    }
  }
  assert.ok(accepted > 500, `only ${accepted} values fit`);
});

Forms('do not exist for schemas that do more than a JSON Schema says', () => {
  const annotated = z.string().check(z.meta({ minLength: 3 }));
  const recursive: z.ZodMiniType = z.object({
    get next() {
      return z.optional(recursive);
    },
  });
  const ofOtherZod = z.string();
  Object.assign(ofOtherZod._zod, { version: { major: 4, minor: 0, patch: 1 } });
  const coded: readonly z.core.$ZodType[] = [
    z.string().check(z.refine((text) => text !== 'x')),
    z.string().check(z.trim()),
    z.string().check(z.regex(/^.$/)),
    z.string().check(z.regex(/^a$/i)),
    z.string().check(z.regex(/^[^a]$/)),
    z.email(),
    z.url(),
    z.date(),
    z.bigint(),
    z.coerce.number(),
    z.custom<string>(() => true),
    z.transform((value) => value),
    z.pipe(
      z.string(),
      z.transform((text) => text.length),
    ),
    z.lazy(() => z.string()),
    z.union([member, z.object({ other: z.string() })]),
    z.tuple([z.string()]),
    z.readonly(member),
    classic.string().catch('x'),
    z.prefault(z.string(), 'x'),
    z._default(z.string(), 'x'),
    withDefault(z.string(), () => 'x'),
    z.optional(withDefault(z.string(), 'x')),
    z.catchall(member, z.string()),
    z.record(z.string().check(z.minLength(2)), z.string()),
    z.float32(),
    annotated,
    classic.string().trim(),
    z.catchall(z.object({}), z.any().check(z.refine(() => false))),
    recursive,
    ofOtherZod,
    classic.string().transform((text) => text.length),
  ];
  for (const schema of coded) {
    assert.is(formOf(schema), undefined, schema._zod.def.type);
    assert.is(formOf(z.object({ in: z.array(schema as z.ZodMiniType) })), undefined, `${schema._zod.def.type} inside`);
  }
});

Forms('keep members with names that every object has', () => {
  const open = z.looseObject({ a: z.optional(z.int()) });
  for (const value of [{ constructor: 1, valueOf: 2, toString: 'x', x: 3 }, { a: 1 }, {}]) {
    assert.equal(inForm(formOf(open)!, value, []), z.parse(open, value));
    assert.equal(Object.keys(inForm(formOf(open)!, value, []) as object), Object.keys(z.parse(open, value)));
  }
});

Forms.run();
