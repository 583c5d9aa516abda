import * as z from 'zod/mini';

/**
 * The method of the requests that run an endpoint, on the schema of its input: `"x-aana-method": "get"`. The keys of
 * the input are then parameters of the path and of the query. Default: `post`.
 */
export const ENDPOINT_METHOD = 'x-aana-method';

/**
 * Marks an object `{ media_type, text }` among the outputs of an endpoint. The host answers a request with `text` as
 * the body and `media_type` as its content type. In JSON Schema: `"x-aana-text": true`.
 */
export const TEXT_ANSWER = 'x-aana-text';

/**
 * Marks an object `{ media_type, base64, status?, headers? }` among the outputs of an endpoint. The host answers a
 * request with the bytes as the body and `media_type` as its content type. In JSON Schema: `"x-aana-bytes": true`.
 */
export const BYTES_ANSWER = 'x-aana-bytes';

/**
 * Marks a union of outputs whose form depends on one key of the input. In JSON Schema: `"x-aana-answer-by": { "key":
 * "format", "values": ["json", "csv"] }`, with a value for each branch. An absent key and null stand for the first one.
 */
export const ANSWER_BY = 'x-aana-answer-by';

/** Returns the schema of an answer that is text of one of these media types, such as `text/csv`, not JSON. */
export function textAnswer<const T extends string>(mediaType: T, ...more: readonly T[]) {
  return z
    .strictObject({ media_type: z.enum([mediaType, ...more]), text: z.string() })
    .check(z.meta({ [TEXT_ANSWER]: true }));
}

/** Returns the schema of an answer that is bytes of one of these media types, such as `application/pdf`, not JSON. */
export function bytesAnswer<const T extends string>(mediaType: T, ...more: readonly T[]) {
  return z
    .strictObject({
      media_type: z.enum([mediaType, ...more]),
      base64: z.string(),
      status: z.optional(z.int().check(z.minimum(200), z.maximum(599))),
      headers: z.optional(z.record(z.string(), z.string())),
    })
    .check(z.meta({ [BYTES_ANSWER]: true }));
}

/**
 * Returns an answer that is text. An endpoint returns it where its output is a {@link textAnswer} of this media type.
 */
export function asText<const T extends string>(mediaType: T, text: string): { media_type: T; text: string } {
  return { media_type: mediaType, text };
}

/**
 * Returns the schema of an answer whose form depends on the key `key` of the input: `answers` has a schema for each
 * value of the key, the default first.
 */
export function answerBy<A extends z.ZodMiniType>(key: string, answers: Readonly<Record<string, A>>) {
  return z
    .union(Object.values(answers) as [A, ...A[]])
    .check(z.meta({ [ANSWER_BY]: { key, values: Object.keys(answers) } }));
}
