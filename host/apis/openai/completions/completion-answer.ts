import * as z from 'zod';
import type { GeneratedText, TextChoice } from '../../../base/schemas/index.ts';
import { FinishReason, Quotations, Usage } from '../text/answer-values.ts';
import { type AnswerHead, type OpenAiUsage, usageOf } from '../text/values.ts';
import type { CompletionPlan } from './completion-call.ts';
import { answerScores, CompletionLogprobs, LogprobLists, promptScores } from './completion-logprobs.ts';

/** The answer of `POST /v1/completions`. */
export const Completion = z.object({
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.int().describe('Seconds since the epoch.'),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int().describe('The answers to the first prompt come first.'),
      text: z.string(),
      logprobs: CompletionLogprobs.nullable(),
      finish_reason: FinishReason,
      quotations: Quotations,
    }),
  ),
  usage: Usage.optional(),
});
type Choice = z.input<typeof Completion>['choices'][number];

/** A prompt with its text and its result. */
export interface Completed {
  readonly prompt: string;
  /** The text of the first token of the prompt, if the log-probabilities of the prompt are wanted. */
  readonly firstToken: string;
  readonly output: GeneratedText;
}

/** Returns the answer. */
export function completionAnswer(
  head: AnswerHead,
  plan: CompletionPlan,
  all: readonly Completed[],
): z.input<typeof Completion> {
  const usage = usageOfAll(all, plan);
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices: all.flatMap((one, at) =>
      likeliest(one.output, plan).map((choice, index) => choiceOf(at * plan.count + index, choice, one, plan)),
    ),
    ...(usage && { usage }),
  };
}

function choiceOf(
  index: number,
  choice: TextChoice,
  { prompt, firstToken, output }: Completed,
  plan: CompletionPlan,
): Choice {
  const { echo, isPromptOnly, logprobs } = plan;
  const text = isPromptOnly ? '' : choice.text;
  const before = echo ? prompt : '';
  const known = choice.details ?? output.details;
  const scored = [
    ...(echo && logprobs ? promptScores(output.details ?? {}, firstToken) : []),
    ...(isPromptOnly ? [] : answerScores(choice.details?.logprobs ?? output.details?.logprobs)),
  ];
  return {
    index,
    text: before + text,
    logprobs: logprobs ? new LogprobLists().of(scored, before + text) : null,
    finish_reason: isPromptOnly ? 'length' : (known?.finish_reason ?? 'stop'),
    ...(!isPromptOnly && known?.quotations && { quotations: known.quotations }),
  };
}

/** Returns as many answers as are wanted, the likeliest first if more were generated. */
function likeliest({ text, details, choices }: GeneratedText, { count, tries }: CompletionPlan): readonly TextChoice[] {
  const all = choices ?? [{ text, ...(details && { details }) }];
  if (tries === count) return all;
  const mean = ({ details: of }: TextChoice): number => {
    const scores = of?.logprobs ?? [];
    return scores.reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, scores.length);
  };
  return all.toSorted((a, b) => mean(b) - mean(a)).slice(0, count);
}

function usageOfAll(all: readonly Completed[], { isPromptOnly }: CompletionPlan): OpenAiUsage | undefined {
  const usages = all.flatMap(({ output: { details } }) => (details ? [usageOf(details)] : []));
  return usages.length === all.length ? sumOfUsages(usages, isPromptOnly) : undefined;
}

/** Returns the sum. A token that was generated only to read a prompt does not count. */
export function sumOfUsages(usages: readonly OpenAiUsage[], isPromptOnly: boolean): OpenAiUsage {
  const sum = (of: (usage: OpenAiUsage) => number): number => usages.reduce((total, usage) => total + of(usage), 0);
  const prompt = sum((usage) => usage.prompt_tokens);
  const completion = isPromptOnly ? 0 : sum((usage) => usage.completion_tokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum((usage) => usage.prompt_tokens_details.cached_tokens) },
  };
}
