import * as z from 'zod/mini';
import { anyObject, MAX_TEXT } from './bounds.ts';
import { absent, anyText, text } from './fields.ts';

export const MAX_CHOICES = 10_000;

/** A JSON Schema: an object, true or false. */
const JsonSchema = z.union([anyObject, z.boolean()]);

const MAX_SOURCES = 1024;
/** Words of ten hours of speech, and more. */
const MAX_PARTS = 500_000;
/** Words of a quotation. */
const MAX_WORDS = 100_000;

const seconds = z.number().check(z.minimum(0));

/** What an answer may quote. Parts may have further members, as segments of transcripts have. */
const QuoteSource = z.union([
  anyText,
  z
    .array(
      z
        .object({ text: anyText, start: seconds, end: seconds })
        .check(z.refine(({ start, end }) => start <= end, { error: 'must not be before start.', path: ['end'] })),
    )
    .check(
      z.maxLength(MAX_PARTS),
      z.describe('Parts of a text in the order of their starts, with their times in seconds.'),
      ({ value: parts, issues }) => {
        const wrong = parts.findIndex(({ start }, n) => n > 0 && start < parts[n - 1]!.start);
        const message = 'must not be before the start of the part before it.';
        if (wrong > 0) issues.push({ code: 'custom', input: parts, path: [wrong, 'start'], message });
      },
    ),
]);

/** A quotation of an answer. */
export const Quotation = z.strictObject({
  text: z.string(),
  start: z.optional(z.number().check(z.describe('Where the passage begins, in seconds, if the source has times.'))),
  end: z.optional(z.number().check(z.describe('Where the passage ends, in seconds, if the source has times.'))),
  source: z.int().check(z.minimum(0), z.describe('The place of the source in `quote_of`.')),
});
export type Quotation = z.infer<typeof Quotation>;

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
  quote_of: absent(
    z
      .array(QuoteSource)
      .check(
        z.minLength(1),
        z.maxLength(MAX_SOURCES),
        z.describe(
          'Sources, from which the answer is a quotation. Beside `json`: the strings of the schema with the format ' +
            '`quote` are.',
        ),
      ),
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
    min_words: absent(
      z.int().check(z.minimum(1), z.maximum(MAX_WORDS), z.describe('Fewest words of a quotation. Default: 5.')),
    ),
    max_words: absent(
      z.int().check(z.minimum(1), z.maximum(MAX_WORDS), z.describe('Most words of a quotation. Default: any number.')),
    ),
    close_json: absent(
      z
        .boolean()
        .check(
          z.describe(
            'Whether JSON or a quotation that max_tokens cuts gets its shortest end. Default: true with `quote_of`.',
          ),
        ),
    ),
  })
  .check(
    z.refine((value) => {
      const isThere = (form: Form): boolean =>
        (value[form] ?? false) !== false || (form === 'json' && value.json === false);
      const given = (Object.keys(forms) as Form[]).filter(isThere);
      return given.length === 1 || given.join() === 'json,quote_of';
    }, 'must have exactly one of json, json_object, regex, choice, grammar and quote_of, or json and quote_of.'),
    z.refine(
      ({ min_words: min, max_words: max, quote_of: sources }) => (min ?? max) == null || sources != null,
      'min_words and max_words need quote_of.',
    ),
    z.refine(
      ({ close_json: closes, json, json_object: anyObject, quote_of: sources }) =>
        !closes || (json ?? anyObject ?? sources) != null,
      'close_json needs json, json_object or quote_of.',
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
