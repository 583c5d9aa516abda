import * as z from 'zod';
import { Overflow, ResponseFormat, MAX_TEXT } from '../../../base/schemas/index.ts';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import type { RequestFields } from '../fields.ts';
import { TEXT_IDLE } from '../text/idle-fields.ts';
import { AdaptableModel, samplingFields } from '../text/sampling-fields.ts';

/** Prompts of one request. */
const MAX_PROMPTS = 128;
const Tokens = TokenNumbers.check(z.minLength(1), z.maxLength(1_000_000));

/** The parameters of `POST /v1/completions` that have an effect. */
export const CompletionRequest = z.object({
  model: AdaptableModel,
  prompt: z
    .union([
      z.string().max(MAX_TEXT),
      Tokens,
      z.array(z.string().max(MAX_TEXT)).min(1).max(MAX_PROMPTS),
      z.array(Tokens).min(1).max(MAX_PROMPTS),
    ])
    .describe(`A text, the numbers of tokens, or a list of at most ${MAX_PROMPTS} of either.`),
  stream: z.nullish(z.boolean()),
  stream_options: z
    .nullish(z.object({ include_usage: z.nullish(z.boolean()) }))
    .describe('`include_usage`: a last chunk has the usage.'),
  ...samplingFields,
  max_tokens: z.nullish(z.int().min(0)).describe('Default: 16. 0 needs `echo`.'),
  logprobs: z
    .nullish(z.int().min(0).max(20))
    .describe('Tells the log-probability of each token, and so many of the likeliest tokens at its place.'),
  suffix: z
    .nullish(z.string().max(MAX_TEXT))
    .describe(
      'Text behind the gap that the answer fills. For models with tokens for it, such as Qwen2.5-Coder; for others ' +
        'it has no effect and is named.',
    ),
  echo: z.nullish(z.boolean()).describe('Whether the text begins with the prompt.'),
  best_of: z
    .nullish(z.int().min(1).max(16))
    .describe('Answers to generate, of which the `n` likeliest are sent. Not for streams.'),
  response_format: z.nullish(ResponseFormat),
  overflow: z.nullish(Overflow),
});
export type CompletionRequest = z.output<typeof CompletionRequest>;

const { best_of: _best, echo: _echo, ...shared } = TEXT_IDLE;

/** All parameters of `POST /v1/completions`. */
export const COMPLETION_FIELDS = {
  schema: CompletionRequest,
  idle: shared,
} as const satisfies RequestFields;
