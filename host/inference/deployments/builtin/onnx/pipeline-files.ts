import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fail } from '../../../../base/core/errors.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { pullModel } from '../pull-model.ts';
import { pullOnnxModel } from './onnx-files.ts';

export interface PipelineFiles {
  /** Folder of `config.json` and the tokenizer. */
  readonly folder: string;
  /** Name of the model's file in the folder `onnx` below it, without `.onnx`. */
  readonly file: string;
  readonly bytes: number;
}

const CONFIGURATION = ['config.json', 'tokenizer.json', 'tokenizer_config.json'];
/** Where repositories of the hub have ONNX models. */
const SUBFOLDER = 'onnx';
const REPOSITORY = /^[\w-][\w.-]*\/[\w-][\w.-]*$/;

/**
 * Returns the files of a model for Transformers.js: a folder, or a repository of the hub, whose files are fetched.
 * Throws `ModelNotFound`, which names a file that is missing.
 */
export async function pullPipeline(id: string, file: string, context: PrepareContext): Promise<PipelineFiles> {
  if (REPOSITORY.test(id)) {
    let folder = '';
    for (const name of CONFIGURATION) folder = path.dirname(await pullModel(`${id}/${name}`, context));
    return { folder, file, bytes: (await pullOnnxModel(`${id}/${SUBFOLDER}/${file}.onnx`, context)).bytes };
  }
  const folder = path.resolve(id.replace(/^~(?=[\\/])/, homedir()));
  const model = path.join(folder, SUBFOLDER, `${file}.onnx`);
  for (const needed of [...CONFIGURATION.map((name) => path.join(folder, name)), model])
    if (!(await stat(needed).catch(() => undefined))?.isFile())
      throw fail('ModelNotFound', `there is no file ${needed}`, { data: { id } });
  return { folder, file, bytes: (await pullOnnxModel(model, context)).bytes };
}
