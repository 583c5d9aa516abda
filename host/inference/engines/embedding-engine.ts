import {
  type LlamaEmbeddingInfo,
  type LlamaEmbeddingLoadOptions,
  type LlamaEmbeddingRequestOptions,
  type LlamaEmbeddingInput,
  type NativeLlamaEmbeddingEngine,
} from '../../../native/lib/index.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import { endProcess, engineLife, type LlamaModelSpec, modelOptions } from './llama-model.ts';
import { EmbeddingRequests, type Vectors } from './embedding-requests.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';
import { EmbeddingMetrics } from './metrics/embedding-metrics.ts';
import type { VectorEngine } from './embedding/embedder.ts';
import { openNative } from './native.ts';

/** The model in the configuration of a replica, made by `inference/deployments/builtin/llama-embedding-model.ts`. */
export interface EmbeddingModelSpec extends LlamaModelSpec {
  readonly n_batch: number;
}

type Truncate = LlamaEmbeddingRequestOptions['truncate'];

/** A loaded model for embeddings or scores in a replica. */
export class EmbeddingEngine implements VectorEngine {
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
    const engine = await native.loadLlamaEmbedding(
      {
        ...task,
        ...modelOptions(spec),
        maxTokens: spec.n_ctx,
        batchTokens: spec.n_batch,
      },
      requests.onEvent,
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

  /** Returns how many tokens the text has, which may be too many, and how many it may have. */
  async count(input: LlamaEmbeddingInput, context: CallContext): Promise<{ tokens: number; max_tokens: number }> {
    const { tokens } = await this.#requests
      .run(this.#engine, 'countTokens', input, {}, context)
      .catch((error: unknown) => ({ tokens: [tokensOfTooLong(error)] }));
    return { tokens: tokens[0] ?? 0, max_tokens: this.info.maxTokens };
  }

  /** The part of an implementation that does not depend on its methods. */
  get life(): Omit<Implementation, 'methods'> {
    return {
      info: { model: this.modelName, ...this.info },
      ...engineLife(this.#engine, this.#gpus),
      metrics: () => this.#metrics.report(),
    };
  }
}

/** Returns the tokens of a text that the engine refused because of them. Throws every other error. */
function tokensOfTooLong(error: unknown): number {
  if (!(error instanceof AanaError) || error.name !== 'PromptTooLongException') throw error;
  return (error.data as { readonly prompt_len: number }).prompt_len;
}
