import type * as z from 'zod';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import type { GeneratedText } from '../../../base/schemas/index.ts';
import { answerOf } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { resolveModel } from '../models/model-names.ts';
import type { RunContext } from '../run-context.ts';
import { type AnswerHead, newHead } from '../text/values.ts';
import { type Completed, type Completion, completionAnswer } from './completion-answer.ts';
import { type CompletionPlan, completionPlan, type OnePrompt } from './completion-call.ts';
import type { CompletionRequest } from './completion-fields.ts';
import type { Fill } from './fill.ts';

/** Prompts of one request that a model works on at the same time. */
const PROMPTS_AT_ONCE = 16;

/** A completion request as calls of a deployment. */
export interface CompletionRun {
  /** The deployment. */
  readonly name: string;
  readonly plan: CompletionPlan;
  readonly head: AnswerHead;
  /** Returns the text of a prompt as far as the answer needs it. */
  readPrompt(prompt: OnePrompt, context: RunContext): Promise<Omit<Completed, 'output'>>;
}

/** Returns the calls for a request. Throws errors that name the wrong parameter. */
export function completionRun(models: ModelDirectory, request: CompletionRequest): CompletionRun {
  const resolved = resolveModel(models, request.model, 'completions');
  const { name } = resolved.model;
  const plan = completionPlan(request, resolved);
  return {
    name,
    plan,
    head: newHead('cmpl-', request.model),
    readPrompt: async (prompt, context) => {
      const { echo, logprobs } = plan;
      const textOf = async (tokens: readonly number[]): Promise<string> =>
        ((await models.call(name, 'detokenize', { tokens }, context)) as { text: string }).text;
      const text = !echo ? '' : typeof prompt === 'string' ? prompt : await textOf(prompt);
      if (!echo || !logprobs) return { prompt: text, firstToken: '' };
      if (typeof prompt !== 'string') return { prompt: text, firstToken: await textOf(prompt.slice(0, 1)) };
      const { texts } = (await models.call(name, 'tokenize', { text: prompt }, context)) as { texts: string[] };
      return { prompt: text, firstToken: texts[0] ?? '' };
    },
  };
}

/** Answers a request as a whole. `fill` is how its suffix takes effect. */
export async function answerCompletion(
  models: ModelDirectory,
  request: CompletionRequest,
  context: RunContext,
  fill?: Fill,
): Promise<z.input<typeof Completion>> {
  const { name, plan, head, readPrompt } = completionRun(models, request);
  const all = await boundedMap(plan.prompts, PROMPTS_AT_ONCE, context.signal, async (prompt, signal) => {
    const one = { ...context, signal };
    const read = await readPrompt(prompt, one);
    const args = { ...plan.args, prompt: fill?.of(prompt) ?? prompt, details: true };
    const output = await answerOf(models, { name, args, blame: [plan.blame] }, 'generate', one);
    return { ...read, output: output as GeneratedText };
  });
  return completionAnswer(head, plan, all);
}
