import type { LlamaEvent } from '../../../native/lib/index.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { InferenceException } from '../replicas/process/inference-exception.ts';

export type LlamaFailure = Extract<LlamaEvent, { type: 'error' }>;

/**
 * Returns the error for a request that an engine over llama.cpp ended. `input` is the word for what the request gave
 * the model.
 */
export function llamaFailure(
  model: string,
  { code, fault, message, promptTokens, maxTokens }: LlamaFailure,
  input: 'prompt' | 'text' = 'prompt',
): AanaError {
  const data = { model_name: model };
  switch (code) {
    case 'prompt-too-long':
      return fail('PromptTooLongException', `${model} cannot take the ${input}: ${message}`, {
        data: { prompt_len: promptTokens, max_len: maxTokens },
      });
    case 'template':
      return fail('ChatTemplateException', `${model} cannot take this dialog: ${message}`, {
        data,
      });
    case 'empty-prompt':
      return fail(
        'EmptyPrompt',
        `${input === 'text' ? message : 'the prompt is empty'}; ${model} needs at least one character`,
        { data },
      );
    case 'invalid-sampling':
      return fail('InvalidSamplingParams', `${model} cannot sample so: ${message}`, { data });
    case 'slow-reader':
      return fail('SlowReader', `the answer of ${model} was stopped: ${message}`, { data });
    case 'deadline-exceeded':
      return fail('DeadlineExceeded', `the request to ${model} was stopped: ${message}`, {
        data,
        fault,
      });
    case 'no-room':
      return fail('EngineFull', `${model} had no room for the request: ${message}`, { data });
    case 'engine-ended':
    case 'failed':
      if (fault === 'caller') return fail('InvalidPrompt', `${model} cannot take the ${input}: ${message}`, { data });
      return new InferenceException(model, message);
    default:
      return code satisfies never;
  }
}
