import { AanaError, kindOf } from '../../../base/core/errors.ts';

/**
 * The failure of a model on a valid request. It counts as a fault of the deployment. A replica is replaced when most of
 * its calls fail by such faults; errors that are the caller's fault do not count.
 */
export class InferenceException extends AanaError {
  constructor(modelName: string, reason: string, options: ErrorOptions = {}) {
    super('InferenceException', kindOf('InferenceException'), `inference with ${modelName} failed: ${reason}`, {
      ...options,
      data: { model_name: modelName },
    });
  }
}
