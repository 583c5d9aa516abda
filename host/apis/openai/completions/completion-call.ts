import { structuredBy } from '../../../base/schemas/structured-outputs.ts';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { formOf, samplingBlame, samplingOf } from '../text/sampling-fields.ts';
import type { CompletionRequest } from './completion-fields.ts';

const DEFAULT_MAX_TOKENS = 16;

/** One prompt: a text, or the numbers of tokens. */
export type OnePrompt = string | readonly number[];

/** What a request for completions asks for. */
export interface CompletionPlan {
  readonly prompts: readonly OnePrompt[];
  /** Answers to each prompt. */
  readonly count: number;
  /** Answers to generate for each prompt. */
  readonly tries: number;
  readonly echo: boolean;
  /** Whether only the prompt is wanted, with its log-probabilities. */
  readonly isPromptOnly: boolean;
  readonly logprobs: boolean;
  readonly includeUsage: boolean;
  /** The arguments of `generate` and `generate_stream` without the prompt. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Where the arguments are in the request. */
  readonly blame: Blame;
}

/** Returns what a request asks for. Throws `InvalidParameter` for parameters that exclude each other. */
export function completionPlan(request: CompletionRequest, { adapter }: ResolvedModel): CompletionPlan {
  const { prompt, logprobs, response_format: format, overflow } = request;
  const count = request.n ?? 1;
  const tries = request.best_of ?? count;
  const echo = request.echo === true;
  const maxTokens = request.max_tokens ?? DEFAULT_MAX_TOKENS;
  if (tries < count) throw invalidValue('best_of', `it is ${tries}, which is less than n, ${count}`);
  if (tries > count && request.stream) throw invalidValue('best_of', 'a stream cannot have more tries than answers');
  if (maxTokens === 0 && !echo) throw invalidValue('max_tokens', '0 needs echo to be true');
  const form = format == null ? null : structuredBy(format);
  if (form && formOf(request))
    throw invalidValue('response_format', 'it cannot be used together with another form of the answer');
  const scores = logprobs ?? (tries > count ? 0 : undefined);
  const { n: _, ...sampling } = samplingOf(request, Math.max(1, maxTokens));
  return {
    prompts: promptsOf(prompt),
    count,
    tries,
    echo,
    isPromptOnly: maxTokens === 0,
    logprobs: logprobs != null,
    includeUsage: request.stream_options?.include_usage === true,
    args: {
      sampling_params: {
        ...sampling,
        ...(tries > 1 && { n: tries }),
        ...(form && { structured_outputs: form }),
        ...(scores !== undefined && { logprobs: scores }),
        ...(echo && logprobs != null && { prompt_logprobs: logprobs }),
      },
      ...(adapter !== undefined && { adapter }),
      ...(overflow != null && { overflow }),
    },
    blame: {
      PromptTooLongException: 'prompt',
      ...samplingBlame(request),
      ...(format != null && {
        InvalidSamplingParams: 'response_format',
        'sampling_params.structured_outputs': 'response_format',
        'sampling_params.structured_outputs.json': 'response_format.json_schema.schema',
      }),
      ...(tries > count && { 'sampling_params.n': 'best_of' }),
      // The best answers are found by their log-probabilities.
      ...(tries > count && logprobs == null && { 'sampling_params.logprobs': 'best_of' }),
    },
  };
}

function promptsOf(prompt: CompletionRequest['prompt']): readonly OnePrompt[] {
  if (typeof prompt === 'string') return [prompt];
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as string[] | number[][]);
}
