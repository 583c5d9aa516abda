import { Embeddings, type EmbeddingsParams } from '@langchain/core/embeddings';
import type { DeploymentHandle } from '../../inference/deployments/index.ts';

export interface AanaEmbeddingsFields extends Pick<EmbeddingsParams, 'maxConcurrency'> {
  /** A deployment for embeddings: `app.handle('embedding_deployment')`. */
  readonly handle: DeploymentHandle;
  /** Numbers of each vector, for models whose vectors may be cut. Default: all. */
  readonly dimensions?: number | undefined;
  /** Names of prompts in the deployment's configuration. Default: its `default_prompt_name`. */
  readonly queryPromptName?: string | undefined;
  readonly documentPromptName?: string | undefined;
  /** Texts of one call, from 1 to 2048. Default: 256. */
  readonly batchSize?: number | undefined;
}

/** Calls at the same time, so that a second replica and the next texts do not wait. */
const CALLS = 2;
const BATCH = 256;

/** A model for embeddings as LangChain's. Newlines stay as they are. */
export class AanaEmbeddings extends Embeddings {
  /** The name of the deployment, by which collections know what made their vectors. */
  readonly model: string;
  readonly #fields: AanaEmbeddingsFields;

  constructor(fields: AanaEmbeddingsFields) {
    // The handle repeats calls that can be repeated.
    super({ maxConcurrency: fields.maxConcurrency ?? CALLS, maxRetries: 0 });
    this.#fields = fields;
    this.model = fields.handle.name;
  }

  async embedDocuments(documents: string[]): Promise<number[][]> {
    const { batchSize = BATCH, documentPromptName } = this.#fields;
    const batches = Array.from({ length: Math.ceil(documents.length / batchSize) }, (_, n) =>
      documents.slice(n * batchSize, (n + 1) * batchSize),
    );
    const calls = batches.map((texts) => this.caller.call(() => this.#embed(texts, documentPromptName)));
    return (await Promise.all(calls)).flat();
  }

  async embedQuery(document: string): Promise<number[]> {
    const [vector] = await this.#embed([document], this.#fields.queryPromptName);
    return vector!;
  }

  async #embed(sentences: string[], prompt: string | undefined): Promise<number[][]> {
    const { handle, dimensions } = this.#fields;
    const { embedding } = (await handle.call('embed_batch', {
      sentences,
      ...(dimensions !== undefined && { dimensions }),
      ...(prompt !== undefined && { prompt_name: prompt }),
    })) as { embedding: number[][] };
    return embedding;
  }
}
