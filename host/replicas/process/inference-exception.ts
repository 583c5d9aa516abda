import { AanaError } from '../../core/errors.ts';

/**
 * A model failed on a request that was fine. A replica most of whose calls fail by the fault of the deployment, as with
 * this error, is replaced; errors that are the caller's fault say nothing about its health.
 */
export class InferenceException extends AanaError {
  constructor(modelName: string, reason: string, options: ErrorOptions = {}) {
    super('InferenceException', 'internal', `inference with ${modelName} failed: ${reason}`, {
      ...options,
      data: { model_name: modelName },
    });
  }
}
