import { randomUUID } from 'node:crypto';
import { Document, type DocumentInterface } from '@langchain/core/documents';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { VectorStore } from '@langchain/core/vectorstores';
import { fail } from '../../base/core/errors.ts';
import type {
  ChunkSelection,
  FoundChunk,
  Metadata,
  Storage,
  VectorChunk,
  VectorFilter,
  VectorSearch,
} from '../../data/storage/index.ts';
import { flatMetadata } from './metadata.ts';

export interface AanaVectorStoreFields {
  /** The database: `app.storage`. */
  readonly storage: Storage;
  /** The name of the collection, 1 to 255 characters. The first documents make it. */
  readonly collection: string;
  /** Whose collection it is. Default: null, that of all callers where the host requires no keys. */
  readonly userId?: string | null | undefined;
  /** The name of what makes the vectors. Default: that of the embeddings. */
  readonly model?: string | undefined;
}

/** Most chunks that one statement changes. */
const CHUNKS = 2000;

interface Ids {
  readonly ids?: readonly string[] | undefined;
}

type Text = Omit<VectorChunk, 'vector'>;

/** Returns documents as a collection has them. Throws `ValidationError`. */
async function chunksOf(documents: readonly DocumentInterface[], { ids }: Ids = {}): Promise<Text[]> {
  if (ids && ids.length !== documents.length)
    throw fail('ValidationError', `ids: there are ${ids.length} for ${documents.length} documents`);
  const { checkMetadata } = await import('../../data/storage/index.ts'); // a program may have only a chat model
  return documents.map(({ pageContent, metadata, id }, n) => {
    const at = `documents[${n}].metadata`;
    const flat = flatMetadata(metadata, at);
    checkMetadata(flat, at);
    return { id: ids?.[n] ?? id ?? randomUUID(), text: pageContent, metadata: flat as Metadata };
  });
}

/**
 * A collection of vectors as a vector store of LangChain. A document's metadata become values that filters know:
 * `{ loc: { page: 3 } }` becomes `{ 'loc.page': 3 }`. Scores are cosines, from -1 to 1.
 */
export class AanaVectorStore extends VectorStore {
  declare FilterType: VectorFilter;
  readonly #fields: AanaVectorStoreFields & { readonly model: string };

  /** Throws `ValidationError` if neither the fields nor the embeddings name the model. */
  constructor(embeddings: EmbeddingsInterface, fields: AanaVectorStoreFields) {
    super(embeddings, {}); // the fields are not what LangChain may write down
    const model = fields.model ?? ('model' in embeddings ? embeddings.model : undefined);
    if (typeof model !== 'string')
      throw fail('ValidationError', 'model: name what makes the vectors, because these embeddings have no `model`');
    this.#fields = { ...fields, model };
  }

  static override lc_name(): string {
    return 'AanaVectorStore';
  }

  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    fields: AanaVectorStoreFields,
  ): Promise<AanaVectorStore> {
    const store = new AanaVectorStore(embeddings, fields);
    await store.addDocuments(documents);
    return store;
  }

  static override fromTexts(
    texts: string[],
    metadata: object[] | object,
    embeddings: EmbeddingsInterface,
    fields: AanaVectorStoreFields,
  ): Promise<AanaVectorStore> {
    const documents = texts.map((pageContent, n) => {
      const own: unknown = Array.isArray(metadata) ? metadata[n] : metadata;
      return new Document({ pageContent, metadata: { ...(own as Record<string, unknown> | undefined) } });
    });
    return AanaVectorStore.fromDocuments(documents, embeddings, fields);
  }

  _vectorstoreType(): string {
    return 'aana-host';
  }

  /** @param options `ids` of the documents. Default: their own, or new ones. Documents with known ids are replaced. */
  async addDocuments(documents: DocumentInterface[], options?: Ids): Promise<string[]> {
    const chunks = await chunksOf(documents, options); // before the work, which may take an hour
    const vectors = await this.embeddings.embedDocuments(chunks.map(({ text }) => text));
    return this.#add(chunks, vectors);
  }

  /** Adds all documents or none, and returns their ids. */
  async addVectors(vectors: number[][], documents: DocumentInterface[], options?: Ids): Promise<string[]> {
    return this.#add(await chunksOf(documents, options), vectors);
  }

  /** Removes documents by their ids. Ids that the collection lacks are passed over. */
  override async delete({ ids }: Ids = {}): Promise<void> {
    if (!ids) throw fail('ValidationError', 'ids: name the documents to delete');
    const { storage, collection, userId = null } = this.#fields;
    await storage.write(async (repositories) => {
      for (let n = 0; n < ids.length; n += CHUNKS) {
        const selection: ChunkSelection = { ids: ids.slice(n, n + CHUNKS) };
        await repositories.vectorsOf(userId).remove(collection, selection);
      }
    });
  }

  async #add(texts: readonly Text[], vectors: readonly number[][]): Promise<string[]> {
    if (vectors.length !== texts.length)
      throw fail('ValidationError', `there are ${vectors.length} vectors for ${texts.length} documents`);
    const { storage, collection, userId = null, model } = this.#fields;
    const dimensions = vectors[0]?.length;
    if (dimensions === undefined) return [];
    const chunks = texts.map((text, n) => ({ ...text, vector: vectors[n]! }));
    await storage.write(async (repositories) => {
      const own = repositories.vectorsOf(userId);
      await own.ensure(collection, { model, dimensions });
      for (let n = 0; n < chunks.length; n += CHUNKS) await own.upsert(collection, model, chunks.slice(n, n + CHUNKS));
    });
    return chunks.map(({ id }) => id);
  }

  async similaritySearchVectorWithScore(
    vector: number[],
    limit: number,
    filter?: VectorFilter,
  ): Promise<[Document, number][]> {
    return this.search({ vector, limit, filter });
  }

  /**
   * Returns documents with scores for a vector, for the words of a text, or for both ranked together. Without
   * documents, nothing is found.
   */
  async search(search: Omit<VectorSearch, 'model'>): Promise<[Document, number][]> {
    const { storage, collection, userId = null, model } = this.#fields;
    const found = await storage.read(async (repositories): Promise<FoundChunk[]> => {
      const own = repositories.vectorsOf(userId);
      return (await own.find(collection)) ? own.search(collection, { ...search, model }) : [];
    });
    return found.map(({ id, text, metadata, score }) => [
      new Document({ id, pageContent: text, metadata: { ...metadata } }),
      score,
    ]);
  }
}
