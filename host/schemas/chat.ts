import * as z from 'zod/mini';

export const ChatMessage = z.strictObject({
  content: z.string().check(z.describe('The text of the message.')),
  role: z.enum(['system', 'user', 'assistant']).check(z.describe('The author of the message.')),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

export const ChatDialog = z.strictObject({ messages: z.array(ChatMessage).check(z.minLength(1)) });
export type ChatDialog = z.infer<typeof ChatDialog>;

/** Sampling options. Absent options have the defaults of the deployment. */
export const SamplingParams = z.strictObject({
  temperature: z.optional(z.nullable(z.number().check(z.minimum(0), z.maximum(5), z.describe('0 is greedy.')))),
  top_p: z.optional(z.nullable(z.number().check(z.gt(0), z.maximum(1)))),
  top_k: z.optional(
    z.nullable(z.int().check(z.refine((k) => k === -1 || k >= 1, 'top_k must be -1 (off) or at least 1.'))),
  ),
  min_p: z.optional(z.nullable(z.number().check(z.minimum(0), z.maximum(1)))),
  max_tokens: z.optional(z.nullable(z.int().check(z.minimum(1)))),
  repetition_penalty: z.optional(z.nullable(z.number().check(z.gt(0), z.maximum(5)))),
  seed: z.optional(z.nullable(z.int().check(z.minimum(0), z.maximum(4294967295)))),
  stop: z.optional(z.nullable(z.array(z.string().check(z.minLength(1))).check(z.maxLength(16)))),
});
export type SamplingParams = z.infer<typeof SamplingParams>;

/** The result of `chat`. */
export const ChatOutput = z.strictObject({ message: ChatMessage });
export type ChatOutput = z.infer<typeof ChatOutput>;

/** One value of `chat_stream` and `generate_stream`. */
export const TextChunk = z.strictObject({ text: z.string().check(z.describe('The next piece of the text.')) });
export type TextChunk = z.infer<typeof TextChunk>;
