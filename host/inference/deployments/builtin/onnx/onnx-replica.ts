import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { AanaError, fail } from '../../../../base/core/errors.ts';
import type { PrepareContext, ReplicaSpec } from '../../class/deployment-definition.ts';
import type { MemoryNeed } from '../memory-need.ts';
import { pullModel } from '../pull-model.ts';

/** Configuration of all deployments whose replicas have the ONNX Runtime in a thread. */
export const onnxReplica = {
  threads: z.int().min(1).max(256).optional().describe('CPU threads. Default: the processors of a replica, at most 4.'),
  max_memory_bytes: z
    .int()
    .min(2 ** 28)
    .max(2 ** 46)
    .optional()
    .describe(
      'Memory of a replica. A replica that needs more ends, and its call is repeated once. Default: three times the ' +
        'files of the model, 2 GiB, and the keys and values of dialogs.',
    ),
};

interface OnnxReplicaConfig {
  readonly threads?: number | undefined;
  readonly max_memory_bytes?: number | undefined;
  readonly onnxruntime_path?: string | undefined;
}

const USEFUL_THREADS = 4;
/** Memory of the runtime and of a small computation. */
const WORKING_BYTES = 200_000_000;
/** What the runtime makes of weights while it loads them. */
const COPIES = 3;

/** Bytes that the memory of a replica is estimated from. */
export interface OnnxSizes {
  /** The files of the model. */
  readonly model: number;
  /** What the largest call keeps between its computations. Default: nothing. */
  readonly call?: number;
  /** What all calls at the same time keep. */
  readonly calls?: number;
}

/** Throws `ValidationError` for a deployment that wants GPUs. */
export function requireProcessors(type: string, { numGpus }: PrepareContext): void {
  if (numGpus > 0) throw wrongGpus(`${type} computes on processors only`);
}

/** Throws `ValidationError` for a deployment that wants GPUs without a runtime for them, or a runtime that is none. */
export async function requireRuntime(
  type: string,
  { onnxruntime_path: folder }: OnnxReplicaConfig,
  { numGpus }: PrepareContext,
): Promise<void> {
  if (numGpus > 1) throw wrongGpus(`${type} computes on one GPU at most, or on a share of one`);
  if (numGpus > 0 && folder === undefined)
    throw wrongGpus(`${type} needs user_config.onnxruntime_path, an onnxruntime-node with its provider for CUDA`);
  if (folder === undefined) return;
  const text = await readFile(path.join(folder, 'package.json'), 'utf8').catch(() => '{}');
  if (!/"name":\s*"onnxruntime-node"/.test(text))
    throw fail('ValidationError', `user_config: onnxruntime_path: ${folder} is not the npm package onnxruntime-node`);
}

const wrongGpus = (why: string): AanaError => fail('ValidationError', `ray_actor_options: num_gpus: ${why}`);

/** Fetches the runtime and returns the part of a replica's spec that does not depend on the model. */
export async function onnxReplicaSpec(
  type: string,
  config: OnnxReplicaConfig,
  { model, call = 0, calls = 0 }: OnnxSizes,
  context: PrepareContext,
): Promise<ReplicaSpec> {
  return {
    runtime_path: config.onnxruntime_path
      ? path.resolve(config.onnxruntime_path)
      : await pullOnnxRuntime(type, context),
    threads: Math.min(config.threads ?? USEFUL_THREADS, Math.max(1, await context.cpus())),
    bytes: model,
    call_bytes: call,
    max_memory_bytes: config.max_memory_bytes ?? COPIES * model + 2 ** 31 + calls,
  };
}

export const onnxMemory = async (spec: ReplicaSpec): Promise<MemoryNeed> => ({
  weightsBytes: Number(spec['bytes']),
  contextBytes: WORKING_BYTES + Number(spec['call_bytes']),
});

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
