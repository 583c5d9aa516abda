import { Embeddings } from '@langchain/core/embeddings';
import { boundedMap } from '../../base/core/async/bounded-map.ts';
import type { DeploymentHandle } from '../../inference/deployments/index.ts';
import { requireCount } from './counts.ts';

export interface AanaEmbeddingsFields {
  /** A deployment for embeddings: `app.handle('embedding_deployment')`. */
  readonly handle: DeploymentHandle;
  /** Numbers of each vector, for models whose vectors may be cut. Default: all. */
  readonly dimensions?: number | undefined;
  /** Names of prompts in the deployment's configuration. Default: its `default_prompt_name`. */
  readonly queryPromptName?: string | undefined;
  readonly documentPromptName?: string | undefined;
  /** Texts of one call, from 1 to 2048. Default: 256. */
  readonly batchSize?: number | undefined;
  /** Calls at the same time for the texts of one `embedDocuments`, from 1 to 1000. Default: 2. */
  readonly maxConcurrency?: number | undefined;
}

/** So that a second replica and the next texts do not wait. */
const CALLS = 2;
const BATCH = 256;
const MOST_TEXTS = 2048;
const MOST_CALLS = 1000;

/** A model for embeddings as LangChain's. Newlines stay as they are. */
export class AanaEmbeddings extends Embeddings {
  /** The name of the deployment, by which collections know what made their vectors. */
  readonly model: string;
  readonly #fields: AanaEmbeddingsFields;

  /** Throws `ValidationError` for a wrong `batchSize` or `maxConcurrency`. */
  constructor(fields: AanaEmbeddingsFields) {
    super({});
    requireCount('batchSize', fields.batchSize ?? BATCH, 1, MOST_TEXTS);
    requireCount('maxConcurrency', fields.maxConcurrency ?? CALLS, 1, MOST_CALLS);
    this.#fields = fields;
    this.model = fields.handle.name;
  }

  /** When a call fails, no further one begins. */
  async embedDocuments(documents: string[]): Promise<number[][]> {
    const { batchSize = BATCH, maxConcurrency = CALLS, documentPromptName } = this.#fields;
    const batches = Array.from({ length: Math.ceil(documents.length / batchSize) }, (_, n) =>
      documents.slice(n * batchSize, (n + 1) * batchSize),
    );
    const { signal } = new AbortController(); // nobody aborts it: the calls end with their request
    // Not LangChain's caller, whose one queue begins calls of one request in the context of another.
    const vectors = await boundedMap(batches, maxConcurrency, signal, (texts) =>
      this.#embed(texts, documentPromptName),
    );
    return vectors.flat();
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
