// Runs in a replica: vectors of texts with llama.cpp.
import type { LlamaEmbeddingLoadOptions } from '../../../native/lib/index.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import { Embedder, type EmbedderSpec } from './embedding/embedder.ts';
import { EmbeddingEngine, type EmbeddingModelSpec } from './embedding-engine.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/llama-embedding-deployment.ts`. */
interface EmbeddingSpec extends EmbeddingModelSpec, EmbedderSpec {
  readonly pooling?: LlamaEmbeddingLoadOptions['pooling'];
}

export async function start(spec: EmbeddingSpec, context: StartContext): Promise<Implementation> {
  const task = { task: 'embed', ...(spec.pooling !== undefined && { pooling: spec.pooling }) } as const;
  const engine = await EmbeddingEngine.load(spec, task, context);
  return { ...engine.life, ...new Embedder(engine, spec).served };
}
