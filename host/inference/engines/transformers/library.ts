import { createRequire } from 'node:module';
import { sessionOptions } from '../onnx/runtime.ts';

/** The settings of Transformers.js; the rest of it has the type `Used`, the part that the caller uses. */
interface Library {
  readonly env: Record<string, unknown>;
}

const LOG_NOTHING = 50;

/** Loads Transformers.js, which then reads files of this machine and fetches nothing. */
export function loadTransformers<Used extends object>(file: string): Used {
  const library = createRequire(import.meta.url)(file) as Library & Used;
  Object.assign(library.env, {
    allowRemoteModels: false,
    useFSCache: false,
    logLevel: LOG_NOTHING,
    fetch: () => Promise.reject(new Error('nothing is fetched')),
  });
  return library;
}

/** The options of a model in the folder `onnx` of its folder, without the name of its file. */
export const modelOptions = (threads: number): object => ({
  subfolder: 'onnx',
  device: 'cpu',
  local_files_only: true,
  use_external_data_format: false, // the runtime opens the files that the model names
  session_options: sessionOptions(threads),
});
