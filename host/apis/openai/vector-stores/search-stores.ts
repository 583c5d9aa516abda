import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Caller, ForCallers, RequestContext } from '../../../base/core/request-context.ts';
import { AccessError, allowsPath } from '../../../data/access/index.ts';
import {
  collectionOf,
  type FoundChunk,
  type Metadata,
  type Storage,
  type TracedStorage,
  type VectorFilter,
  type VectorStoreRecord,
} from '../../../data/storage/index.ts';
import { type EmbeddingChoice, type EmbeddingModel, embeddingModel } from './embedding-model.ts';
import type { FileOrder, UserVectorStores } from './vector-stores.ts';

/** What a search looks for in stores. */
export interface StoreQuery {
  /** At least one question. A result fits the best one. */
  readonly queries: readonly string[];
  readonly filter: VectorFilter | undefined;
  /** From 1 to 50. */
  readonly limit: number;
  /** Whether words do not count. */
  readonly byVectors: boolean;
  /** Results with a lower score, from 0 to 1, are left out. */
  readonly threshold: number;
}

/** A part of a file. */
export interface FoundText {
  readonly file_id: string;
  readonly filename: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly attributes: Metadata;
  readonly text: string;
}

/** What searches need of the host. */
export interface SearchPorts extends EmbeddingChoice {
  readonly storage: Pick<Storage, 'inTrace'>;
  readonly stores: ForCallers<UserVectorStores>;
}

/** What the key of a search allows. */
export interface SearchRights {
  /** The deployments that the caller and tasks of the caller may use; null for all. */
  readonly deployments: FileOrder['deployments'];
  /** The scopes of the key, which say what stores it may search; null for all. */
  readonly scopes: readonly string[] | null;
}

/** What a search can use. */
export interface SearchScope extends Omit<SearchPorts, 'stores'>, SearchRights {
  readonly stores: UserVectorStores;
}

/** Returns what a caller with these rights searches with. */
export function searchScope(
  { storage, stores, models, embeddingDeployment }: SearchPorts,
  caller: Caller,
  { deployments, scopes }: SearchRights,
): SearchScope {
  return { storage, stores: stores.as(caller), models, embeddingDeployment, deployments, scopes };
}

/** {@link searchScope} with the ports of a host. */
export type SearchScopes = (caller: Caller, rights: SearchRights) => SearchScope;

/** Throws `InsufficientScope` if the scopes do not allow to search these stores. */
export function requireSearching({ scopes }: SearchRights, ids: readonly string[]): void {
  if (ids.every((id) => allowsPath(scopes, `/v1/vector_stores/${id}/search`))) return;
  throw new AccessError('InsufficientScope', 'the API key does not allow to search vector stores', {
    'www-authenticate': 'Bearer error="insufficient_scope"',
  });
}

/** Throws `VectorStoreExpired` for a store that has expired. */
export function requireUnexpired({ id, isExpired }: VectorStoreRecord): void {
  if (isExpired) throw fail('VectorStoreExpired', `the vector store ${id} has expired, because nobody has used it`);
}

/**
 * Returns the texts of stores that fit best, the best first. A store whose vectors another model has made gets new ones
 * in a task; until they are there, its texts are found by their words. So are those of a store whose model another host
 * has just changed.
 */
export async function searchStores(
  scope: SearchScope,
  stores: readonly VectorStoreRecord[],
  query: StoreQuery,
  context: RequestContext & { readonly signal: AbortSignal },
): Promise<FoundText[]> {
  const model = embeddingModel(scope, scope.deployments);
  const current: VectorStoreRecord[] = [];
  for (const store of stores) {
    requireUnexpired(store);
    const isDue = store.model === model.name ? isAbandoned(store) : store.isSettled;
    if (isDue) await scope.stores.renew(store, model.name, scope.deployments);
    current.push(isDue ? ((await scope.stores.find(store.id)) ?? store) : store);
  }
  const isByVectors = current.some((store) => hasVectors(store, model));
  const vectors = isByVectors ? await model.embed(query.queries, 'query', context) : [];
  const storage = scope.storage.inTrace(context.traceparent);
  const found = new Map<string, FoundText>();
  for (const store of current)
    for (const [n, text] of query.queries.entries()) {
      const asked = { ...query, text, vector: vectors[n] };
      for (const [key, one] of await searchStore(storage, context.userId ?? null, store, model, asked))
        if (!((found.get(key)?.score ?? -1) >= one.score)) found.set(key, one);
    }
  return [...found.values()]
    .filter(({ score }) => score >= query.threshold)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, query.limit);
}

/** Returns whether all texts of a store have vectors of this model. */
function hasVectors({ source_generation: source, model: own }: VectorStoreRecord, model: EmbeddingModel): boolean {
  return source === null && own === model.name;
}

/** Returns whether nothing makes the new vectors of a store any more, because the task that did was lost. */
function isAbandoned({ source_generation: source, counts }: VectorStoreRecord): boolean {
  return source !== null && counts.in_progress === 0;
}

type Asked = StoreQuery & { readonly text: string; readonly vector: readonly number[] | undefined };

async function searchStore(
  storage: TracedStorage,
  userId: string | null,
  store: VectorStoreRecord,
  model: EmbeddingModel,
  { text, vector, filter, limit, byVectors }: Asked,
): Promise<[string, FoundText][]> {
  const { source_generation: source } = store;
  const how = hasVectors(store, model) ? { model: model.name, vector, ...(!byVectors && { text }) } : { text };
  const found = await storage.read(async (repositories): Promise<[string, FoundText][]> => {
    const { texts } = repositories.vectorStoresOf(userId);
    const files = repositories.vectorStoreFilesOf(userId);
    const chunks = await texts
      .search(collectionOf(store, source ?? store.generation), { ...how, filter, limit })
      .catch((error: unknown): FoundChunk[] => {
        if (error instanceof AanaError && error.kind === 'not-found') return []; // no file is read yet
        throw error;
      });
    const names = new Map<string, string>();
    for (const { document } of chunks)
      if (document !== null && !names.has(document))
        names.set(document, (await files.read(store.id, document))?.filename ?? '');
    return chunks.map((chunk) => [`${store.id} ${chunk.id}`, foundText(chunk, names)]);
  });
  const isDue = await storage.read(async (repositories) => repositories.vectorStoresOf(userId).isTouchDue(store));
  if (isDue) await storage.write((repositories) => repositories.vectorStoresOf(userId).touch(store.id));
  return found;
}

function foundText({ document, text, metadata, score }: FoundChunk, names: ReadonlyMap<string, string>): FoundText {
  const fileId = document ?? '';
  return {
    file_id: fileId,
    filename: names.get(fileId) ?? '',
    score: Math.min(1, Math.max(0, score)),
    attributes: metadata,
    text,
  };
}
