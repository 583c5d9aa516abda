import { Deployment, withoutAbsent } from './deployments.ts';

export interface EmbedOptions {
  /** Name of a prompt in the deployment's configuration, which is put before each text. */
  readonly prompt_name?: string | null | undefined;
  /** What the texts are for. Without `prompt_name`, they get the prompt of this name, if there is one. */
  readonly input_type?: 'query' | 'document' | null | undefined;
  /** Numbers of a vector that are kept, from its beginning. */
  readonly dimensions?: number | null | undefined;
  /** Whether the vectors get the length 1. Default: the configuration of the deployment. */
  readonly normalize?: boolean | null | undefined;
  /** Part that a text with too many tokens loses. With `none` the call is refused. Default: the configuration. */
  readonly truncate?: 'none' | 'start' | 'end' | null | undefined;
}

export interface Embedding {
  readonly embedding: readonly number[];
  /** Tokens of the text. */
  readonly tokens: number;
}

/** A vector and the tokens of each text. */
export interface Embeddings {
  readonly embedding: readonly (readonly number[])[];
  readonly tokens: readonly number[];
}

/** Vectors of texts. */
export class EmbeddingDeployment extends Deployment {
  embed(text: string, options: EmbedOptions = {}): Promise<Embedding> {
    return this.call('embed', withoutAbsent({ text, ...options }));
  }

  /** Computes the vectors of at most 2048 texts. */
  embedBatch(sentences: readonly string[], options: EmbedOptions = {}): Promise<Embeddings> {
    return this.call('embed_batch', withoutAbsent({ sentences, ...options }));
  }
}

export interface RerankOptions {
  /** Number of results. Default: one for each document. */
  readonly top_n?: number | null | undefined;
  /** Whether scores are the model's own numbers. Otherwise they lie between 0 and 1. */
  readonly raw_scores?: boolean | null | undefined;
  /** Part that a document with too many tokens loses. With `none` the call is refused. Default: the configuration. */
  readonly truncate?: 'none' | 'start' | 'end' | null | undefined;
}

export interface Ranking {
  /** The best comes first. `index` is the place in the documents, from 0. */
  readonly results: readonly { readonly index: number; readonly score: number }[];
  /** Tokens that were computed. */
  readonly tokens: number;
}

/** Order of documents by how well they answer a query. */
export class RerankDeployment extends Deployment {
  /** Orders at most 2048 documents. */
  rerank(query: string, documents: readonly string[], options: RerankOptions = {}): Promise<Ranking> {
    return this.call('rerank', withoutAbsent({ query, documents, ...options }));
  }
}

/** The methods of the usual deployment. Called with a name, it returns that deployment. */
export type Embedder = ((deployment: string) => EmbeddingDeployment) &
  Pick<EmbeddingDeployment, 'embed' | 'embedBatch'>;
export type Reranker = ((deployment: string) => RerankDeployment) & Pick<RerankDeployment, 'rerank'>;
