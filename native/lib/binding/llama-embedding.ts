import type { LlamaEvent } from './llama-events.ts';
import type { LlamaModelOptions } from './llama-model.ts';
import type { RequestTerms } from './request-terms.ts';

export interface LlamaEmbeddingLoadOptions extends LlamaModelOptions {
  /** `embed` computes a vector for each text, `rank` the scores of pairs of a query and a document. */
  readonly task: 'embed' | 'rank';
  /** Of `embed`. Default: the pooling that the model's file states. */
  readonly pooling?: 'mean' | 'cls' | 'last';
  /** Most tokens of a text. 0: the number that the model was trained with. */
  readonly maxTokens: number;
  /** Tokens of one computation. There are more where a model must compute a longer text at once. */
  readonly batchTokens: number;
  /** Of `rank`: a text with `{query}` and `{document}` that replaces the model's own template. */
  readonly rankTemplate?: string;
}

export interface LlamaEmbeddingInfo {
  readonly description: string;
  readonly vocabularySize: number;
  /** Most tokens of a text, with the tokens that the model wants around it. */
  readonly maxTokens: number;
  readonly batchTokens: number;
  /** Numbers in the vector of a text; of a reranker, the number of its scores. */
  readonly dimensions: number;
  readonly pooling: 'mean' | 'cls' | 'last' | 'rank';
  /** Whether the first score of a reranker is a probability. Otherwise it is any number. */
  readonly hasProbabilities: boolean;
}

/** The last and only event of a request for embeddings or scores. */
export type LlamaEmbeddingEvent =
  | {
      readonly id: number;
      readonly type: 'vectors';
      /** `dimensions` numbers for each text, one text after the other; empty for `countTokens`. */
      readonly values: Float32Array;
      /** Tokens of each text, after it was truncated. */
      readonly tokens: Int32Array;
      /** Milliseconds from the arrival of the request until its first text was computed; 0 for `countTokens`. */
      readonly queueMs: number;
    }
  | { readonly id: number; readonly type: 'cancelled' }
  | Extract<LlamaEvent, { readonly type: 'error' }>;

export interface LlamaEmbeddingInput {
  /** Of a reranker. */
  readonly query?: string;
  /**
   * Texts to embed, or the documents of a reranker. Texts of control tokens in them are read as text. A text to embed
   * may be given as its tokens, which are computed as they are, without others around them.
   */
  readonly texts: readonly (string | readonly number[])[];
}

export interface LlamaEmbeddingRequestOptions extends RequestTerms {
  /**
   * What happens to a text that has more tokens than `maxTokens`: the request fails (`none`, the default), or the text
   * loses tokens at its `start` or `end`.
   */
  readonly truncate?: 'none' | 'start' | 'end';
}

/** What an engine has computed since its load, and the requests that it has at the moment. */
export interface LlamaEmbeddingCounts {
  /** Number of computations. */
  readonly steps: number;
  /** Texts of these computations, and their tokens. */
  readonly texts: number;
  readonly tokens: number;
  /** Requests of which no text was computed yet, and other requests. */
  readonly waiting: number;
  readonly running: number;
}

export interface NativeLlamaEmbeddingEngine {
  readonly info: LlamaEmbeddingInfo;
  /**
   * Queues a request. Its event goes to the listener given to `loadLlamaEmbedding`. The caller chooses `id`. Throws
   * when a request with this id is running, or when an option has the wrong type.
   */
  submit(id: number, input: LlamaEmbeddingInput, options: LlamaEmbeddingRequestOptions): void;
  /** Counts the tokens of each text. Otherwise like `submit`. */
  countTokens(id: number, input: LlamaEmbeddingInput, options: LlamaEmbeddingRequestOptions): void;
  /**
   * Ends a request. A `cancelled` event follows. A computation that only this request needs ends soon afterwards.
   * Unknown ids are ignored.
   */
  cancel(id: number): void;
  /** See `NativeLlamaEngine`. */
  readonly failure: string;
  /** Number of computations. It grows while there is work. */
  readonly steps: number;
  readonly counts: LlamaEmbeddingCounts;
  readonly busy: boolean;
  readonly beats: number;
  /** Ends all requests and frees the model. May be called twice. */
  close(): Promise<void>;
}
