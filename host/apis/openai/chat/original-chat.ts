import * as z from 'zod';
import { MAX_TEXT, MAX_NAME, MAX_MESSAGES } from '../../../base/schemas/index.ts';
import type { ResolvedModel } from '../models/model-names.ts';

/** The parameters of `POST /chat/completions` in the original system. Others are refused. */
export const OriginalChatRequest = z.strictObject({
  model: z.string().max(MAX_NAME),
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().max(MAX_TEXT) }))
    .min(1)
    .max(MAX_MESSAGES),
  temperature: z.number().min(0).max(5).default(1),
  top_p: z.number().gt(0).max(1).default(1),
  max_tokens: z.int().min(1).nullable().default(null).describe("Default: the deployment's."),
  repetition_penalty: z.number().default(1).describe('Has no effect.'),
  stream: z.boolean().nullable().default(false),
});
export type OriginalChatRequest = z.output<typeof OriginalChatRequest>;

const shared = { id: z.string().max(MAX_NAME), model: z.string().max(MAX_NAME), created: z.int() };

export const OriginalChatCompletion = z.object({
  ...shared,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ content: z.string().max(MAX_TEXT), role: z.string().max(MAX_TEXT) }),
    }),
  ),
});

export const OriginalChatChunk = z.object({
  ...shared,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({ content: z.string().max(MAX_TEXT), role: z.string().max(MAX_TEXT) }),
    }),
  ),
});

export const OriginalNotFound = z.object({ error: z.object({ message: z.string().max(MAX_TEXT) }) });

/**
 * Returns the arguments of `chat` and `chat_stream`. As in the original, the defaults are not those of the deployment.
 */
export function originalChatArguments(
  { messages, temperature, top_p, max_tokens }: OriginalChatRequest,
  { adapter }: ResolvedModel,
): Record<string, unknown> {
  return {
    dialog: { messages },
    sampling_params: { temperature, top_p, ...(max_tokens !== null && { max_tokens }) },
    ...(adapter !== undefined && { adapter }),
  };
}
