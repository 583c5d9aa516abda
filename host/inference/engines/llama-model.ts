import { assignedGpus, type LlamaModelOptions } from '../../../native/lib/index.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import type { Implementation } from '../replicas/process/implementation.ts';
import type { GpuMemoryWatch } from './gpu-memory.ts';

/** What the configuration of a replica says of a model that llama.cpp loads. */
export interface LlamaModelSpec {
  readonly model_path: string;
  readonly model_name: string;
  readonly n_ctx: number;
  readonly n_threads: number;
  readonly n_gpu_layers: number | 'auto';
  readonly flash_attn: 'auto' | 'on' | 'off';
  readonly use_mmap: boolean;
  readonly use_mlock: boolean;
  readonly packed_path?: string;
  readonly split_mode?: LlamaModelOptions['splitMode'];
  readonly main_gpu?: number;
  readonly tensor_split?: readonly number[];
}

/** Returns the options of the addon for the model. */
export function modelOptions(spec: LlamaModelSpec): LlamaModelOptions {
  const devices = assignedGpus();
  return {
    modelPath: spec.model_path,
    threads: spec.n_threads,
    gpuLayers: spec.n_gpu_layers,
    flashAttention: spec.flash_attn,
    mapsFile: spec.use_mmap,
    locksMemory: spec.use_mlock,
    ...(spec.packed_path !== undefined && { packedPath: spec.packed_path }),
    ...(devices.length > 0 && { devices }),
    ...(spec.split_mode !== undefined && { splitMode: spec.split_mode }),
    ...(spec.main_gpu !== undefined && { mainGpu: spec.main_gpu }),
    ...(spec.tensor_split !== undefined && { tensorSplit: spec.tensor_split }),
  };
}

/** An engine of the addon, as far as the replica watches it. */
interface WatchedEngine {
  readonly failure: string;
  readonly steps: number;
  readonly busy: boolean;
  readonly beats: number;
  close(): Promise<void>;
}

/** Returns how the replica watches an engine and ends it. */
export function engineLife(engine: WatchedEngine, gpus: GpuMemoryWatch) {
  return {
    // An engine that ends without a request has no caller to report to, so the health check reports it.
    checkHealth: async () => {
      if (engine.failure !== '') throw engineEnded(engine.failure);
    },
    gpuMemory: () => gpus.read(),
    steps: () => engine.steps,
    activity: () => ({ busy: engine.busy, beats: engine.beats }),
    close: () => engine.close(),
  } satisfies Partial<Implementation>;
}

/** Ends this replica's process. The host then starts another one and repeats the calls that have sent no value yet. */
export function endProcess(reason: string): void {
  setImmediate(() => {
    throw engineEnded(reason);
  });
}

/** Returns the error for an engine that can serve no more requests. */
const engineEnded = (reason: string): AanaError => fail('EngineEnded', reason);
