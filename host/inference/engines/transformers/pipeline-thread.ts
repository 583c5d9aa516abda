// The entry of the thread that runs a pipeline of Transformers.js.
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../onnx/compute-thread.ts';
import { type OnnxTensor, reasonOf, sessionOptions } from '../onnx/runtime.ts';

export interface PipelineSpec {
  /** File of Transformers.js. */
  readonly transformers: string;
  readonly task: string;
  /** Folder of the configuration and the tokenizer. */
  readonly folder: string;
  /** Name of the model's file in the folder `onnx` below it, without `.onnx`. */
  readonly file: string;
  readonly threads: number;
}

/** The arguments of the pipeline: a text, what its task needs, and options. */
export interface PipelineQuestion {
  readonly args: readonly unknown[];
}

export interface PipelineAnswer {
  /** JSON, or a tensor. */
  readonly result: unknown;
}

/** The used part of Transformers.js. */
interface Transformers {
  readonly env: Record<string, unknown>;
  pipeline(task: string, folder: string, options: object): Promise<(...args: readonly unknown[]) => Promise<unknown>>;
}

const LOG_NOTHING = 50;

const port = parentPort!;
const spec = workerData as PipelineSpec;

try {
  const { env, pipeline } = createRequire(import.meta.url)(spec.transformers) as Transformers;
  Object.assign(env, {
    allowRemoteModels: false,
    useFSCache: false,
    logLevel: LOG_NOTHING,
    fetch: () => Promise.reject(new Error('nothing is fetched')),
  });
  const run = await pipeline(spec.task, spec.folder, {
    subfolder: 'onnx',
    model_file_name: spec.file,
    dtype: 'fp32', // adds nothing to the name
    device: 'cpu',
    local_files_only: true,
    session_options: sessionOptions(spec.threads),
  });
  port.on('message', async ({ args }: PipelineQuestion) => {
    try {
      port.postMessage({ result: plain(await run(...args)) } satisfies PipelineAnswer);
    } catch (error) {
      port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
    }
  });
  port.postMessage({});
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}

/** Returns a result without classes: of tensors, only what they hold. */
function plain(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('dims' in result)) return result;
  const { type, dims, data } = result as OnnxTensor;
  return { type, dims, data } satisfies OnnxTensor;
}
