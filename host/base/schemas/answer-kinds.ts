/**
 * The answers of typed methods that a guest returns unchanged. A guest recognises their schemas by these words, so that
 * its component contains only schemas that it uses: each one is in the memory that every invocation begins with.
 */
export type AnswerKind = 'transcript' | 'transcripts' | 'speech' | 'speakers' | 'chat' | 'chat with details';

const kinds = new WeakMap<object, AnswerKind>();

/** Returns the schema, which {@link kindOf} recognises from now on. */
export function answerOf<S extends object>(kind: AnswerKind, schema: S): S {
  kinds.set(schema, kind);
  return schema;
}

/** Returns what answers a schema describes. Undefined for any other schema, also for one that was made from it. */
export const kindOf = (schema: object): AnswerKind | undefined => kinds.get(schema);
