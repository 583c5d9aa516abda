import { fail } from '../../../base/core/errors.ts';
import { RefusedByRuntime } from './compute-thread.ts';

/**
 * Returns what to do when a computation rejects: throws `OnnxRunFailed` if the runtime refused it, and other errors as
 * they are.
 */
export const runFailed =
  (model: string, work = 'compute with these inputs') =>
  (error: unknown): never => {
    if (!(error instanceof RefusedByRuntime)) throw error;
    throw fail('OnnxRunFailed', `${model} cannot ${work}: ${error.message}`, {
      data: { model_name: model },
      cause: error,
    });
  };
