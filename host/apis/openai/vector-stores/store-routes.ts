import type { Context } from 'koa';
import { answers, RUN_FAILURES, STORED_FAILURES } from '../../openapi/index.ts';
import { allowedDeployments } from '../../../data/access/index.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { checkCursor, listPage } from '../list-page.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';
import { embeddingModel } from './embedding-model.ts';
import { filesOfIds, storeFilesOf } from './given-files.ts';
import { SEARCH_FIELDS, SearchRequest, SearchResults, storeQueryOf } from './search-fields.ts';
import { searchScope, type SearchScope, searchStores } from './search-stores.ts';
import { listQuery, STORE_CHANGE_FIELDS, STORE_FIELDS, StoreChange, StoreRequest } from './store-fields.ts';
import { DeletedStore, requireStore, storeObject, VectorStore, VectorStoreList } from './store-object.ts';
import { STORE_PREFIX, type UserVectorStores } from './vector-stores.ts';

/** Returns what a request may search vector stores with. */
export function searchScopeOf(ctx: Context, { openai }: OpenAiHttpOptions): SearchScope {
  const caller = callerOf(ctx);
  return searchScope(openai.vectorStores, caller, {
    deployments: allowedDeployments(caller.scopes, ctx.path),
    scopes: caller.scopes,
  });
}

/** Adds the routes of the vector stores of the caller, without those of their files. */
export function storeRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const storesOf = (ctx: Context): UserVectorStores => openai.vectorStores.stores.as(callerOf(ctx));

  serveRoute(
    router,
    {
      id: 'create_vector_store',
      at: 'post /v1/vector_stores',
      summary: 'Makes a vector store, into which files are read',
      body: StoreRequest,
      idle: STORE_FIELDS.idle,
      answers: answers('The store.', VectorStore),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx }) => {
      const request = await readJsonRequest(ctx, STORE_FIELDS, options);
      const caller = callerOf(ctx);
      const deployments = allowedDeployments(caller.scopes, ctx.path);
      const { name } = embeddingModel(openai.vectorStores, deployments);
      const given = filesOfIds(request.file_ids ?? [], { chunking_strategy: request.chunking_strategy });
      const files = await storeFilesOf(ctx, given, openai.files.as(caller));
      const store = {
        name: request.name ?? '',
        metadata: request.metadata ? JSON.stringify(request.metadata) : null,
        model: name,
        expires_after_days: request.expires_after?.days ?? null,
      };
      return storeObject(await storesOf(ctx).create(store, { files, deployments }));
    },
  );
  serveRoute(
    router,
    {
      id: 'list_vector_stores',
      at: 'get /v1/vector_stores',
      summary: 'The vector stores',
      query: listQuery('store'),
      idle: {},
      answers: answers('A page of stores.', VectorStoreList),
      fails: [400, ...STORED_FAILURES],
    },
    async ({ ctx, query: { after, before, limit, order = 'desc' } }) => {
      checkCursor(after, STORE_PREFIX);
      checkCursor(before, STORE_PREFIX, 'before');
      const found = await storesOf(ctx).list({ after, before, order, limit: limit + 1 });
      return listPage(found.map(storeObject), limit);
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_vector_store',
      at: 'get /v1/vector_stores/{vector_store_id}',
      summary: 'A vector store, with the number of its files that are read',
      answers: answers('The store.', VectorStore),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => storeObject(requireStore(id, await storesOf(ctx).find(id))),
  );
  serveRoute(
    router,
    {
      id: 'modify_vector_store',
      at: 'post /v1/vector_stores/{vector_store_id}',
      summary: 'Changes the name, the metadata or the expiry of a vector store',
      body: StoreChange,
      idle: STORE_CHANGE_FIELDS.idle,
      answers: answers('The store.', VectorStore),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => {
      const { name, metadata, expires_after: expiry } = await readJsonRequest(ctx, STORE_CHANGE_FIELDS, options);
      const store = requireStore(id, await storesOf(ctx).find(id));
      const changed = await storesOf(ctx).change(id, {
        name: name === undefined ? store.name : (name ?? ''),
        metadata: metadata === undefined ? store.metadata : metadata && JSON.stringify(metadata),
        expires_after_days: expiry === undefined ? store.expires_after_days : (expiry?.days ?? null),
      });
      return storeObject(requireStore(id, changed));
    },
  );
  serveRoute(
    router,
    {
      id: 'delete_vector_store',
      at: 'delete /v1/vector_stores/{vector_store_id}',
      summary: 'Removes a vector store, but not the files that were read into it',
      answers: answers('The store is removed.', DeletedStore),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => {
      requireStore(id, await storesOf(ctx).delete(id));
      return { id, object: 'vector_store.deleted' as const, deleted: true as const };
    },
  );
  serveRoute(
    router,
    {
      id: 'search_vector_store',
      at: 'post /v1/vector_stores/{vector_store_id}/search',
      summary: 'The parts of the files of a vector store that fit a question best',
      body: SearchRequest,
      idle: SEARCH_FIELDS.idle,
      answers: answers('The parts, the best one first.', SearchResults),
      fails: [400, 409, ...RUN_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => {
      const request = await readJsonRequest(ctx, SEARCH_FIELDS, options);
      const queries = [request.query].flat();
      const query = { queries, ...storeQueryOf(request) };
      const scope = searchScopeOf(ctx, options);
      const stores = [requireStore(id, await scope.stores.find(id))];
      return withinTime(ctx, options, async (context) => {
        const found = await searchStores(scope, stores, query, context);
        return {
          object: 'vector_store.search_results.page' as const,
          search_query: queries,
          data: found.map(({ text, ...result }) => ({ ...result, content: [{ type: 'text' as const, text }] })),
          has_more: false as const,
          next_page: null,
        };
      });
    },
  );
}
