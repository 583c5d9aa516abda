import { AanaError, fail } from '../../../../base/core/errors.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { pullModel } from '../pull-model.ts';

/**
 * Returns the file of the program that runs ONNX models. Throws `ModelNotFound`, which names the `type` of the
 * deployment, where it cannot run.
 */
export async function pullOnnxRuntime(type: string, context: PrepareContext): Promise<string> {
  try {
    return await pullModel('onnxruntime', context);
  } catch (error) {
    if (!(error instanceof AanaError && error.name === 'ModelNotFound')) throw error;
    throw fail(
      'ModelNotFound',
      `${type} needs the npm package onnxruntime-node, which has no library for ` +
        `${process.platform}-${process.arch}: run it on Linux, on Windows, or on macOS with a processor of Apple`,
      { data: { id: 'onnxruntime' }, cause: error },
    );
  }
}
