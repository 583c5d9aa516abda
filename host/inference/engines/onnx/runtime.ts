import { createRequire } from 'node:module';
import { fail } from '../../../base/core/errors.ts';

/** The used part of the package `onnxruntime-node`, which is fetched when a deployment needs it. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(path: string, options: Readonly<Record<string, unknown>>): Promise<OnnxSession>;
  };
  readonly Tensor: new (type: string, data: OnnxData, dims: readonly number[]) => OnnxTensor;
}

/** Values of a tensor. Types of 16-bit floats have their bits, and booleans a byte each. */
export type OnnxData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | readonly string[];

export interface OnnxTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: OnnxData;
}

/** An input or output as a graph declares it. An axis of any length has a name, which may be empty. */
export interface OnnxValue {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: string;
  readonly shape?: readonly (number | string)[];
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly OnnxValue[];
  readonly outputMetadata: readonly OnnxValue[];
  run(
    feeds: Readonly<Record<string, OnnxTensor>>,
    outputs?: readonly string[],
  ): Promise<Readonly<Record<string, OnnxTensor>>>;
  release(): Promise<void>;
}

/** Loads the runtime. Throws `ModelDamaged`, which says how to get another copy. */
export function loadOnnxRuntime(path: string): OnnxRuntime {
  try {
    return createRequire(import.meta.url)(path) as OnnxRuntime;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw fail(
      'ModelDamaged',
      `the ONNX Runtime at ${path} cannot be loaded: ${reason}; install it again, or run "aana-host models rm ` +
        `onnxruntime" and "aana-host models pull onnxruntime"`,
      { data: { id: 'onnxruntime', file: path }, cause: error },
    );
  }
}

/** What computes a model. What CUDA's provider lacks, the processors compute. */
export type OnnxProvider = 'cpu' | 'cuda';

/** The options of a model that computes on `threads` processors, or on a GPU. */
export const sessionOptions = (threads: number, provider: OnnxProvider = 'cpu'): Readonly<Record<string, unknown>> => ({
  executionProviders: [provider],
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  // Memory of a large call is returned after it, and threads that wait sleep.
  enableCpuMemArena: false,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
  logSeverityLevel: 4, // errors are thrown, too
});

/**
 * Opens a model. Rejects with the runtime's reason, for example an operator that it does not have, or a file of weights
 * outside of the model's folder.
 */
export const openSession = (
  runtime: OnnxRuntime,
  file: string,
  threads: number,
  provider?: OnnxProvider,
): Promise<OnnxSession> => runtime.InferenceSession.create(file, sessionOptions(threads, provider));

/** Returns what the runtime says without the places in its sources. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/\/onnxruntime_src\/\S+ /g, '').trim();
