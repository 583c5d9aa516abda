import { isDeepStrictEqual } from 'node:util';
import {
  assignedGpus,
  type LlamaEmbeddingInfo,
  type LlamaEmbeddingLoadOptions,
  type LlamaEmbeddingRequestOptions,
  type LlamaEmbeddingInput,
  type NativeLlamaEmbeddingEngine,
} from '../../../native/lib/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import { endProcess, engineEnded } from './engine-ended.ts';
import { EmbeddingRequests, type Vectors } from './embedding-requests.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';
import { EmbeddingMetrics } from './metrics/embedding-metrics.ts';
import { openNative } from './native.ts';

/** The model in the configuration of a replica, made by `inference/deployments/builtin/llama-embedding-model.ts`. */
export interface EmbeddingModelSpec {
  readonly model_path: string;
  readonly model_name: string;
  readonly n_ctx: number;
  readonly n_batch: number;
  readonly n_threads: number;
  readonly n_gpu_layers: number | 'auto';
  readonly flash_attn: 'auto' | 'on' | 'off';
  readonly use_mmap: boolean;
  readonly use_mlock: boolean;
  readonly split_mode?: LlamaEmbeddingLoadOptions['splitMode'];
  readonly main_gpu?: number;
  readonly tensor_split?: readonly number[];
}

type Truncate = LlamaEmbeddingRequestOptions['truncate'];

/** A loaded model for embeddings or scores in a replica. */
export class EmbeddingEngine {
  readonly modelName: string;
  readonly #engine: NativeLlamaEmbeddingEngine;
  readonly #requests: EmbeddingRequests;
  readonly #gpus: GpuMemoryWatch;
  readonly #metrics: EmbeddingMetrics;

  private constructor(
    modelName: string,
    engine: NativeLlamaEmbeddingEngine,
    requests: EmbeddingRequests,
    gpus: GpuMemoryWatch,
  ) {
    this.modelName = modelName;
    this.#engine = engine;
    this.#requests = requests;
    this.#gpus = gpus;
    this.#metrics = new EmbeddingMetrics(() => engine.counts, requests.waits);
  }

  static async load(
    spec: EmbeddingModelSpec,
    task: Pick<LlamaEmbeddingLoadOptions, 'task' | 'pooling' | 'rankTemplate'>,
    { log, progress }: StartContext,
  ): Promise<EmbeddingEngine> {
    const requests = new EmbeddingRequests(spec.model_name, endProcess);
    const native = openNative(log);
    const gpus = new GpuMemoryWatch(native, spec.n_gpu_layers !== 0);
    const devices = assignedGpus();
    const engine = await native.loadLlamaEmbedding(
      {
        ...task,
        modelPath: spec.model_path,
        maxTokens: spec.n_ctx,
        batchTokens: spec.n_batch,
        threads: spec.n_threads,
        gpuLayers: spec.n_gpu_layers,
        flashAttention: spec.flash_attn,
        mapsFile: spec.use_mmap,
        locksMemory: spec.use_mlock,
        ...(devices.length > 0 && { devices }),
        ...(spec.split_mode !== undefined && { splitMode: spec.split_mode }),
        ...(spec.main_gpu !== undefined && { mainGpu: spec.main_gpu }),
        ...(spec.tensor_split !== undefined && { tensorSplit: spec.tensor_split }),
      },
      requests.onEvents,
      (fraction) => progress(fraction, `loading ${spec.model_name}`),
    );
    return new EmbeddingEngine(spec.model_name, engine, requests, gpus);
  }

  get info(): LlamaEmbeddingInfo {
    return this.#engine.info;
  }

  /** See `EmbeddingRequests.run`. */
  run(input: LlamaEmbeddingInput, truncate: Truncate, context: CallContext): Promise<Vectors> {
    return this.#requests.run(this.#engine, 'submit', input, { truncate }, context);
  }

  /** Returns how many tokens the text has, and how many it may have. */
  async count(input: LlamaEmbeddingInput, context: CallContext): Promise<{ tokens: number; max_tokens: number }> {
    const { tokens } = await this.#requests.run(this.#engine, 'countTokens', input, {}, context);
    return { tokens: tokens[0] ?? 0, max_tokens: this.info.maxTokens };
  }

  /** The part of an implementation that does not depend on its methods. */
  get life(): Omit<Implementation, 'methods'> {
    return {
      info: { model: this.modelName, ...this.info },
      // An engine that ends without a request has no caller to report to, so the health check reports it.
      checkHealth: async () => {
        if (this.#engine.failure !== '') throw engineEnded(this.#engine.failure);
      },
      gpuMemory: () => this.#gpus.read(),
      steps: () => this.#engine.steps,
      activity: () => ({ busy: this.#engine.busy, beats: this.#engine.beats }),
      metrics: () => this.#metrics.report(),
      close: () => this.#engine.close(),
    };
  }
}

/**
 * Returns the settings of the next configuration. Throws `NotReconfigurable` when it also changes the loaded model.
 */
export function nextSettings<Spec extends EmbeddingModelSpec & { readonly settings: object }>(
  current: Spec,
  next: Spec,
): Spec['settings'] {
  const { settings, ...wanted } = next;
  const {
    settings: { ...keys },
    ...loaded
  } = current;
  if (isDeepStrictEqual(loaded, wanted)) return settings;
  throw fail(
    'NotReconfigurable',
    `only ${Object.keys(keys).join(', ')} of the loaded ${current.model_name} can be changed`,
  );
}
