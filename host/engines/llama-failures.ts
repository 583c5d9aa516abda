import type { LlamaEvent } from '../../native/lib/index.ts';
import { AanaError } from '../core/errors.ts';
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
      return new AanaError('PromptTooLongException', 'bad-request', `${model} cannot take the ${input}: ${message}`, {
        data: { prompt_len: promptTokens, max_len: maxTokens },
      });
    case 'template':
      return new AanaError('ChatTemplateException', 'bad-request', `${model} cannot take this dialog: ${message}`, {
        data,
      });
    case 'empty-prompt':
      return new AanaError(
        'EmptyPrompt',
        'bad-request',
        `${input === 'text' ? message : 'the prompt is empty'}; ${model} needs at least one character`,
        { data },
      );
    case 'invalid-sampling':
      return new AanaError('InvalidSamplingParams', 'bad-request', `${model} cannot sample so: ${message}`, { data });
    case 'slow-reader':
      return new AanaError('SlowReader', 'bad-request', `the answer of ${model} was stopped: ${message}`, { data });
    case 'deadline-exceeded':
      return new AanaError('DeadlineExceeded', 'deadline-exceeded', `the request to ${model} was stopped: ${message}`, {
        data,
        fault,
      });
    case 'no-room':
      return new AanaError('EngineFull', 'unavailable', `${model} had no room for the request: ${message}`, { data });
    case 'engine-ended':
    case 'failed':
      if (fault === 'caller')
        return new AanaError('InvalidPrompt', 'bad-request', `${model} cannot take the ${input}: ${message}`, { data });
      return new InferenceException(model, message);
    default:
      return code satisfies never;
  }
}
