import type { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import type { VectorFilter } from '../../data/storage/index.ts';
import type { DeploymentHandle } from '../../inference/deployments/index.ts';
import { requireCount } from './counts.ts';
import type { AanaVectorStore } from './vector-store.ts';

export interface AanaRetrieverFields extends BaseRetrieverInput {
  readonly vectorStore: AanaVectorStore;
  /** Most documents, from 1 to 100. Default: 4, as LangChain's retrievers. */
  readonly k?: number | undefined;
  readonly filter?: VectorFilter | undefined;
  /** A deployment that ranks documents: `app.handle('rerank_deployment')`. It chooses among `fetchK` documents. */
  readonly rerank?: DeploymentHandle | undefined;
  /** From `k` to 100. Default: 20, or `k` if that is more. */
  readonly fetchK?: number | undefined;
}

const FOUND = 4;
const FETCHED = 20;
const MOST = 100;

/**
 * Finds documents by their meaning and by their words, both ranked together, while `asRetriever()` of the vector store
 * finds them by their meaning alone.
 */
export class AanaRetriever extends BaseRetriever {
  lc_namespace = ['aana-host', 'retrievers'];
  readonly #fields: AanaRetrieverFields & { readonly k: number; readonly fetchK: number };

  /** Throws `ValidationError` for a wrong `k` or `fetchK`. */
  constructor({
    vectorStore,
    k = FOUND,
    filter,
    rerank,
    fetchK = Math.max(k, FETCHED),
    ...fields
  }: AanaRetrieverFields) {
    super(fields);
    requireCount('k', k, 1, MOST);
    requireCount('fetchK', fetchK, k, MOST);
    this.#fields = { vectorStore, k, filter, rerank, fetchK };
  }

  static override lc_name(): string {
    return 'AanaRetriever';
  }

  override async _getRelevantDocuments(query: string): Promise<Document[]> {
    const { vectorStore, k, filter, rerank, fetchK } = this.#fields;
    const vector = await vectorStore.embeddings.embedQuery(query);
    const found = await vectorStore.search({ vector, text: query, filter, limit: rerank ? fetchK : k });
    const documents = found.map(([document]) => document);
    if (!rerank || documents.length === 0) return documents;
    const texts = documents.map(({ pageContent }) => pageContent);
    const { results } = (await rerank.call('rerank', { query, documents: texts, top_n: k })) as {
      results: { index: number }[];
    };
    return results.flatMap(({ index }) => documents[index] ?? []);
  }
}
