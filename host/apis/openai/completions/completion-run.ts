import type * as z from 'zod';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import type { GeneratedText } from '../../../base/schemas/index.ts';
import { answerOf, type ModelCall, withDetails } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { type ModelWish, withModel } from '../models/model-route.ts';
import type { RunContext } from '../run-context.ts';
import { type AnswerHead, newHead } from '../text/values.ts';
import { type Completed, type Completion, completionAnswer } from './completion-answer.ts';
import { type CompletionPlan, completionPlan, type OnePrompt } from './completion-call.ts';
import type { CompletionRequest } from './completion-fields.ts';
import { fillOf } from './fill.ts';

/** Prompts of one request that a model works on at the same time. */
const PROMPTS_AT_ONCE = 16;

/** A completion request as calls of a deployment. */
export interface CompletionRun {
  readonly plan: CompletionPlan;
  readonly head: AnswerHead;
  /** Returns the text of a prompt as far as the answer needs it. */
  readPrompt(prompt: OnePrompt, context: RunContext): Promise<Omit<Completed, 'output'>>;
  /** Returns the call of `generate` and `generate_stream` for a prompt. */
  callFor(prompt: OnePrompt): ModelCall;
}

/** Returns what a request asks of a model. */
export function completionWish({ model }: CompletionRequest): ModelWish {
  return { name: model, capability: 'completions' };
}

/**
 * Returns the calls of a model for a request. Throws errors that name the wrong parameter. `strict` is whether a suffix
 * without effect is refused.
 */
export async function completionRun(
  models: ModelDirectory,
  resolved: ResolvedModel,
  request: CompletionRequest,
  strict: boolean,
  context: RunContext,
): Promise<CompletionRun> {
  const { name } = resolved.model;
  const fill = await fillOf(models, resolved, request, strict, context);
  if (request.suffix && !fill) context.ignore?.('suffix');
  const plan = completionPlan(request, resolved);
  return {
    plan,
    head: newHead('cmpl-', request.model),
    readPrompt: async (prompt, reading) => {
      const { echo, logprobs } = plan;
      const textOf = async (tokens: readonly number[]): Promise<string> =>
        ((await models.call(name, 'detokenize', { tokens }, reading)) as { text: string }).text;
      const text = !echo ? '' : typeof prompt === 'string' ? prompt : await textOf(prompt);
      if (!echo || !logprobs) return { prompt: text, firstToken: '' };
      if (typeof prompt !== 'string') return { prompt: text, firstToken: await textOf(prompt.slice(0, 1)) };
      const { texts } = (await models.call(name, 'tokenize', { text: prompt }, reading)) as { texts: string[] };
      return { prompt: text, firstToken: texts[0] ?? '' };
    },
    callFor: (prompt) => ({ name, args: { ...plan.args, prompt: fill?.of(prompt) ?? prompt }, blame: [plan.blame] }),
  };
}

/** Answers a request as a whole. `strict` is as for {@link completionRun}. */
export async function answerCompletion(
  models: ModelDirectory,
  request: CompletionRequest,
  strict: boolean,
  context: RunContext,
): Promise<z.input<typeof Completion>> {
  return withModel(models, completionWish(request), context, async (resolved, tried) => {
    const { plan, head, readPrompt, callFor } = await completionRun(models, resolved, request, strict, tried);
    const all = await boundedMap(plan.prompts, PROMPTS_AT_ONCE, tried.signal, async (prompt, signal) => {
      const one = { ...tried, signal };
      const read = await readPrompt(prompt, one);
      const output = await answerOf(models, withDetails(callFor(prompt)), 'generate', one);
      return { ...read, output: output as GeneratedText };
    });
    return completionAnswer(head, plan, all);
  });
}
