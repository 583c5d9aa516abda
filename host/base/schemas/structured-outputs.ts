import * as z from 'zod/mini';
import { anyObject, MAX_TEXT } from './bounds.ts';
import { absent, text } from './fields.ts';

export const MAX_CHOICES = 10_000;

/** A JSON Schema: an object, true or false. */
const JsonSchema = z.union([anyObject, z.boolean()]);

const forms = {
  json: absent(
    z
      .union([JsonSchema, z.string().check(z.maxLength(MAX_TEXT))])
      .check(z.describe('A JSON Schema, or its text. The answer is JSON that it takes.')),
  ),
  json_object: absent(z.boolean().check(z.describe('Whether the answer is any JSON object.'))),
  regex: absent(text.check(z.maxLength(16_384), z.describe('A regular expression, which the whole answer matches.'))),
  choice: absent(
    z
      .array(text.check(z.maxLength(100_000)))
      .check(z.minLength(1), z.maxLength(MAX_CHOICES), z.describe('Texts, one of which the answer is.')),
  ),
  grammar: absent(
    text.check(z.maxLength(4_000_000), z.describe('A grammar in the notation of llama.cpp (GBNF) with a rule `root`.')),
  ),
} as const;
type Form = keyof typeof forms;

/** The form that an answer has, as in vLLM. */
export const StructuredOutputs = z
  .strictObject({
    ...forms,
    strict: absent(
      z
        .boolean()
        .check(
          z.describe(
            'Whether a schema is refused that no grammar can express wholly. Otherwise the other keywords do not ' +
              'bind the answer.',
          ),
        ),
    ),
    close_json: absent(
      z.boolean().check(z.describe('Whether JSON that max_tokens cuts is closed with the shortest valid end.')),
    ),
  })
  .check(
    z.refine((value) => {
      const isThere = (form: Form): boolean =>
        (value[form] ?? false) !== false || (form === 'json' && value.json === false);
      return (Object.keys(forms) as Form[]).filter(isThere).length === 1;
    }, 'must have exactly one of json, json_object, regex, choice and grammar.'),
    z.refine(
      ({ close_json: closes, json, json_object: anyObject }) => !closes || (json ?? anyObject) != null,
      'close_json needs json or json_object.',
    ),
  );
export type StructuredOutputs = z.infer<typeof StructuredOutputs>;

/** The form that an answer has, as in OpenAI's API. */
export const ResponseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.optional(z.string().check(z.maxLength(256))),
      description: z.optional(z.string().check(z.maxLength(MAX_TEXT))),
      schema: z.optional(JsonSchema.check(z.describe('Absent: any JSON object.'))),
      strict: z.optional(z.nullable(z.boolean())),
    }),
  }),
]);
export type ResponseFormat = z.infer<typeof ResponseFormat>;

/** Returns the form of an answer in the notation of vLLM; null for text. */
export function structuredBy(format: ResponseFormat): StructuredOutputs | null {
  if (format.type === 'text') return null;
  const { schema, strict } = format.type === 'json_schema' ? format.json_schema : {};
  return schema === undefined ? { json_object: true } : { json: schema, ...(strict === true && { strict }) };
}
