import * as z from 'zod';
import { Quotation, type TokenLogprob } from '../../../base/schemas/index.ts';

export const FinishReason = z
  .enum(['stop', 'length', 'tool_calls', 'content_filter'])
  .describe('`stop`: the end or a stop text. `length`: the limit of tokens. `tool_calls`: the model calls tools.');

export const Usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int().describe('Of all answers together, with their reasoning.'),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({
    cached_tokens: z.int().describe('Tokens of the prompt that were computed for an earlier request.'),
    image_tokens: z
      .int()
      .describe('Tokens of the prompt that are images, where there is any. OpenAI does not tell them.')
      .optional(),
    dropped_frames: z
      .int()
      .describe('Frames of videos for which the context had no room, where there are any. OpenAI does not tell them.')
      .optional(),
    audio_tokens: z.int().describe('Tokens of the prompt that are audio, where there is any.').optional(),
  }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int() }).optional(),
});

/** What an answer quotes. OpenAI's API does not have it. */
export const Quotations = z
  .array(Quotation)
  .describe('With `structured_outputs.quote_of`: the quotations of the answer, in order.')
  .optional();

const Token = z.object({
  token: z.string(),
  logprob: z.number().describe('-9999 stands for a probability of 0.'),
  bytes: z.array(z.int()).readonly(),
  id: z.int().describe('The number of the token, which OpenAI does not tell.'),
});

export const AnswerLogprobs = z.object({
  content: z.array(Token.extend({ top_logprobs: z.array(Token).readonly() })).readonly(),
  refusal: z.null(),
});
export type LogprobsOf = { readonly content: readonly TokenLogprob[]; readonly refusal: null } | null;

export function logprobsOf(logprobs: readonly TokenLogprob[] | undefined): LogprobsOf {
  return logprobs === undefined ? null : { content: logprobs, refusal: null };
}
