import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fail } from '../../../../base/core/errors.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { pullModel } from '../pull-model.ts';
import { pullOnnxModel } from './onnx-files.ts';
import { filesOf, type TaskName } from './pipeline-tasks.ts';

export interface PipelineFiles {
  /** Folder of `config.json` and what the task needs beside it. */
  readonly folder: string;
  /** Bytes of the models. */
  readonly bytes: number;
}

/** Where repositories of the hub have ONNX models. */
const SUBFOLDER = 'onnx';
/** The id of a repository of the hub. */
const REPOSITORY = /^[\w-][\w.-]*\/[\w-][\w.-]*$/;

/**
 * Returns the folder that an id names on this machine; undefined for a repository of the hub, and for what is neither.
 * A folder that exists is meant, also if its path could be a repository, such as `models/minilm`: so is it in Python.
 */
export async function modelFolder(id: string): Promise<string | undefined> {
  const place = placeOf(id);
  return (await stat(place).catch(() => undefined))?.isDirectory() === true ? place : undefined;
}

export const isRepository = (id: string): boolean => REPOSITORY.test(id);

const placeOf = (id: string): string => path.resolve(id.replace(/^~(?=[\\/])/, homedir()));

/**
 * Returns the files of a model for Transformers.js: a folder, or a repository of the hub, whose files are fetched. The
 * names of its ONNX models end with `suffix`. Throws `ModelNotFound`, which names a file that is missing, and
 * `ModelFormatError` for a model of another task.
 */
export async function pullPipeline(
  id: string,
  task: TaskName,
  suffix: string,
  context: PrepareContext,
): Promise<PipelineFiles> {
  const folder = await modelFolder(id);
  const isOfHub = folder === undefined && isRepository(id);
  const local = folder ?? placeOf(id);
  const fetched = (name: string): Promise<string> =>
    isOfHub ? pullModel(`${id}/${name}`, context) : present(path.join(local, name), id);
  const config = await fetched('config.json');
  const { configuration, models } = filesOf(task, await readConfig(config), id);
  for (const name of configuration) await fetched(name);
  let bytes = 0;
  for (const name of models) {
    const file = `${SUBFOLDER}/${name}${suffix}.onnx`;
    const source = isOfHub ? `${id}/${file}` : await present(path.join(local, file), id);
    bytes += (await pullOnnxModel(source, context)).bytes;
  }
  return { folder: path.dirname(config), bytes };
}

async function present(file: string, id: string): Promise<string> {
  if ((await stat(file).catch(() => undefined))?.isFile()) return file;
  throw fail('ModelNotFound', `there is no file ${file}`, { data: { id } });
}

/** Returns the configuration of a model, or an empty one where it is none, which Transformers.js then refuses. */
export async function readConfig(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const config: unknown = JSON.parse(await readFile(file, 'utf8'));
    return typeof config === 'object' && config !== null ? { ...config } : {};
  } catch {
    return {};
  }
}
