import { stat } from 'node:fs/promises';
import path from 'node:path';
import { fail } from '../../../../base/core/errors.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { pullModel } from '../pull-model.ts';
import { isRepository, modelFolder, type PipelineFiles, pullPipeline } from './pipeline-files.ts';
import { type WeightName, weightSuffix } from './weight-file.ts';

export interface TextModelFiles extends PipelineFiles {
  /** Name of the model's file in the folder `onnx` below the other one, without `.onnx`. */
  readonly file: string;
}

/**
 * Returns the files of a model of texts for Transformers.js: those of a repository of the hub or a folder in ONNX form,
 * or of a GGUF model, which is converted once. Throws `ModelNotFound`, which names a file that is missing, and
 * `ModelFormatError` for a GGUF model that cannot be converted.
 */
export async function pullTextModel(
  id: string,
  dtype: WeightName | undefined,
  context: PrepareContext,
): Promise<TextModelFiles> {
  const folder = await modelFolder(id);
  const isOfHub = folder === undefined && isRepository(id) && !/\.gguf$/i.test(id); // `models/mine.gguf` is a path
  // It has the tokens with which answers end.
  if (isOfHub) await pullModel(`${id}/generation_config.json`, context);
  if (isOfHub || folder !== undefined) {
    const suffix = weightSuffix(dtype ?? 'fp32');
    return { ...(await pullPipeline(id, 'text-generation', suffix, context)), file: `model${suffix}` };
  }
  if (dtype !== undefined && dtype !== 'q8' && dtype !== 'fp16')
    throw fail('ValidationError', `user_config: dtype: ${id} is a GGUF model, which becomes q8 or fp16, not ${dtype}`);
  const weights = await pullModel(id, context, { form: dtype === 'fp16' ? 'onnx_fp16' : 'onnx_q8' });
  return {
    folder: path.dirname(path.dirname(weights)),
    file: path.basename(weights, '.onnx_data'),
    bytes: (await stat(weights)).size,
  };
}
