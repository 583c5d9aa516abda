import { AanaError } from '../core/errors.ts';

/** The engine failed on a request that was fine. */
export function inferenceException(modelName: string, reason: string): AanaError {
  return new AanaError('InferenceException', 'internal', `inference with ${modelName} failed: ${reason}`, { data: { model_name: modelName } });
}
