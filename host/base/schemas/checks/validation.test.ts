import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fromJSONSchema } from 'zod';
import * as z from 'zod/mini';
import { ChatDialog, SamplingParams, VideoInput, WhisperParams } from '../index.ts';
import { type SchemaIssue, type ValidationEntry, validationEntries, validationMessage } from './validation.ts';

const Input = z.strictObject({ video: VideoInput, whisper_params: z.optional(z.nullable(WhisperParams)) });

function entries(schema: z.ZodMiniType, input: unknown): ValidationEntry[] {
  const result = z.safeParse(schema, input);
  assert.is(result.success, false, 'the input should be refused');
  return validationEntries((result.error?.issues ?? []) as unknown as SchemaIssue[], input);
}

const path = { path: '/a' };
const cases: readonly {
  what: string;
  schema: z.ZodMiniType;
  input: unknown;
  expected: readonly Partial<ValidationEntry>[];
}[] = [
  {
    what: 'a missing key with the object that lacks it',
    schema: Input,
    input: { a: 1 },
    expected: [
      { type: 'missing', loc: ['video'], msg: 'Field required', input: { a: 1 } },
      { type: 'extra_forbidden', loc: ['a'], msg: 'Extra inputs are not permitted', input: 1 },
    ],
  },
  {
    what: 'each unknown key by itself',
    schema: Input,
    input: { video: path, b: 2, c: null },
    expected: [
      { type: 'extra_forbidden', loc: ['b'], input: 2 },
      { type: 'extra_forbidden', loc: ['c'], input: null },
    ],
  },
  {
    what: 'the bound of the schema for a number beyond the safe integers',
    schema: z.strictObject({ n: z.int().check(z.minimum(1), z.maximum(9)) }),
    input: { n: 1e300 },
    expected: [{ type: 'less_than_equal', loc: ['n'], msg: 'Input should be less than or equal to 9', input: 1e300 }],
  },
  {
    what: 'an input that is no object',
    schema: Input,
    input: [],
    expected: [{ type: 'model_type', loc: [], msg: 'Input should be an object', input: [] }],
  },
  {
    what: 'no source, as a value error of the video',
    schema: Input,
    input: { video: {} },
    expected: [
      {
        type: 'value_error',
        loc: ['video'],
        msg: "Value error, Exactly one of 'path', 'url', or 'content' must be provided.",
        input: {},
      },
    ],
  },
  {
    what: 'two sources',
    schema: Input,
    input: { video: { path: '/a', url: 'http://a/b' } },
    expected: [{ type: 'value_error', loc: ['video'] }],
  },
  {
    what: 'text for a whole number, a fraction, a number for a switch',
    schema: WhisperParams,
    input: { beam_size: 'a', best_of: 1.5, vad_filter: 1 },
    expected: [
      { type: 'float_type', loc: ['beam_size'], input: 'a' },
      {
        type: 'int_from_float',
        loc: ['best_of'],
        msg: 'Input should be a valid integer, got a number with a fractional part',
        input: 1.5,
      },
      { type: 'bool_type', loc: ['vad_filter'], msg: 'Input should be a valid boolean', input: 1 },
    ],
  },
  {
    what: 'numbers out of range',
    schema: SamplingParams,
    input: { top_p: -1, min_p: 2, max_tokens: 0 },
    expected: [
      { type: 'greater_than_equal', loc: ['top_p'], msg: 'Input should be greater than or equal to 0' },
      { type: 'less_than_equal', loc: ['min_p'], msg: 'Input should be less than or equal to 1' },
      { type: 'greater_than_equal', loc: ['max_tokens'], msg: 'Input should be greater than or equal to 1' },
    ],
  },
  {
    what: 'a value outside of a list of values',
    schema: WhisperParams,
    input: { channels: 'both' },
    expected: [{ type: 'literal_error', loc: ['channels'], msg: "Input should be 'mix' or 'separate'", input: 'both' }],
  },
  {
    what: 'a text that does not match a pattern',
    schema: VideoInput,
    input: { path: '/a', media_id: '!' },
    expected: [
      { type: 'string_pattern_mismatch', loc: ['media_id'], msg: "String should match pattern '^[A-Za-z0-9_-]+$'" },
    ],
  },
  {
    what: 'the first rule that a text breaks',
    schema: VideoInput,
    input: { path: '/a', media_id: '!'.repeat(37) },
    expected: [{ type: 'string_too_long', loc: ['media_id'], msg: 'String should have at most 36 characters' }],
  },
  {
    what: 'a text that is too long',
    schema: VideoInput,
    input: { path: '/a', media_id: 'a'.repeat(37) },
    expected: [{ type: 'string_too_long', loc: ['media_id'] }],
  },
  {
    what: 'a text that is empty',
    schema: VideoInput,
    input: { path: '/a', media_id: '' },
    expected: [
      { type: 'string_too_short', loc: ['media_id'], msg: 'String should have at least 1 character', input: '' },
    ],
  },
  {
    what: 'the first rule that a number breaks',
    schema: z.strictObject({ n: z.number().check(z.multipleOf(2), z.lte(10), z.gt(20)) }),
    input: { n: 11 },
    expected: [{ type: 'multiple_of', loc: ['n'], msg: 'Input should be a multiple of 2' }],
  },
  {
    what: 'the length of a list that is too long, and nothing inside of it',
    schema: z.strictObject({ l: z.array(z.string()).check(z.maxLength(1)), s: z.string() }),
    input: { l: [1, 2], s: 3 },
    expected: [
      { type: 'too_long', loc: ['l'], msg: 'List should have at most 1 item after validation, not 2' },
      { type: 'string_type', loc: ['s'] },
    ],
  },
  {
    what: 'values of another kind in the words for JSON',
    schema: z.strictObject({
      l: z.array(z.string()),
      t: z.tuple([z.string()]),
      d: z.record(z.string(), z.string()),
      m: z.object({}),
      z: z.null(),
    }),
    input: { l: {}, t: {}, d: [], m: [], z: 1 },
    expected: [
      { type: 'list_type', loc: ['l'], msg: 'Input should be a valid array' },
      { type: 'tuple_type', loc: ['t'], msg: 'Input should be a valid array' },
      { type: 'dict_type', loc: ['d'], msg: 'Input should be an object' },
      { type: 'model_type', loc: ['m'], msg: 'Input should be an object' },
      { type: 'none_required', loc: ['z'], msg: 'Input should be null' },
    ],
  },
  {
    what: "the schema's own message for a pattern",
    schema: VideoInput,
    input: { url: 'ftp://a' },
    expected: [{ type: 'string_pattern_mismatch', loc: ['url'], msg: 'must be an absolute http or https URL' }],
  },
  {
    what: 'lists that are too short, too long, or no lists',
    schema: SamplingParams,
    input: { stop: Array(17).fill('a') },
    expected: [{ type: 'too_long', loc: ['stop'], msg: 'List should have at most 16 items after validation, not 17' }],
  },
  {
    what: 'an empty list',
    schema: ChatDialog,
    input: { messages: [] },
    expected: [
      { type: 'too_short', loc: ['messages'], msg: 'List should have at least 1 item after validation, not 0' },
    ],
  },
  {
    what: 'an object where a list should be',
    schema: ChatDialog,
    input: { messages: {} },
    expected: [{ type: 'list_type', loc: ['messages'] }],
  },
  {
    what: 'an empty text',
    schema: SamplingParams,
    input: { stop: [''] },
    expected: [{ type: 'string_too_short', loc: ['stop', 0], msg: 'String should have at least 1 character' }],
  },
  {
    what: 'the form that came closest of several allowed ones',
    schema: WhisperParams,
    input: { temperature: [0, 3] },
    expected: [{ type: 'less_than_equal', loc: ['temperature', 1], input: 3 }],
  },
  {
    what: 'all allowed forms when none came close',
    schema: WhisperParams,
    input: { temperature: 'hot' },
    expected: [
      { type: 'float_type', loc: ['temperature'] },
      { type: 'list_type', loc: ['temperature'] },
    ],
  },
];

const Validation = suite('validation entries');

for (const { what, schema, input, expected } of cases) {
  Validation(`name ${what}`, () => {
    const actual = entries(schema, input);
    assert.is(actual.length, expected.length, JSON.stringify(actual));
    for (const [at, facts] of expected.entries()) {
      for (const [key, value] of Object.entries(facts))
        assert.equal(actual[at]?.[key as keyof ValidationEntry], value, `${key} of ${JSON.stringify(actual[at])}`);
    }
  });
}

Validation('are the same when the schema was read back from its JSON Schema', () => {
  const again = fromJSONSchema(
    z.toJSONSchema(Input, { io: 'input', unrepresentable: 'any' }) as Parameters<typeof fromJSONSchema>[0],
  );
  for (const input of [
    {},
    { video: { path: 5 } },
    { video: path, whisper_params: { beam_size: 0 } },
    { video: path, whisper_params: { channels: 'both', more: 1 } },
  ]) {
    assert.equal(entries(again as unknown as z.ZodMiniType, input), entries(Input, input));
  }
});

Validation('have a message that names the first and counts the rest', () => {
  assert.is(
    validationMessage(entries(WhisperParams, { beam_size: 0, best_of: 0 })),
    'beam_size: Input should be greater than or equal to 1 (and 1 more)',
  );
});

Validation.run();
