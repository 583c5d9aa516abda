import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../openapi/index.ts';
import { allowedDeployments } from '../../../data/access/index.ts';
import type { VectorStoreRecord } from '../../../data/storage/index.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { invalidValue } from '../fields.ts';
import { checkCursor, listPage } from '../list-page.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../http/openai-request.ts';
import { filesOfIds, type GivenFile, storeFilesOf } from './given-files.ts';
import { requireUnexpired } from './search-stores.ts';
import {
  FILE_BATCH_FIELDS,
  FileBatchRequest,
  STORE_FILE_CHANGE_FIELDS,
  STORE_FILE_FIELDS,
  StoreFileChange,
  StoreFileRequest,
  StoreFilesQuery,
} from './store-fields.ts';
import {
  contentObject,
  DeletedStoreFile,
  FileBatch,
  fileBatchObject,
  requireFileBatch,
  requireStore,
  requireStoreFile,
  StoreFile,
  StoreFileContent,
  StoreFileList,
  storeFileObject,
} from './store-object.ts';
import type { UserVectorStores } from './vector-stores.ts';

const STORE = '/v1/vector_stores/{vector_store_id}';
const FILE_PREFIX = 'file-';

/** Adds the routes of the files of vector stores of the caller. */
export function storeFilesRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const storesOf = (ctx: Context): UserVectorStores => openai.vectorStores.stores.as(callerOf(ctx));
  const storeOf = async (ctx: Context, id: string): Promise<VectorStoreRecord> =>
    requireStore(id, await storesOf(ctx).find(id));
  /** Adds files to a store. Returns the id of their batch. */
  const add = async (ctx: Context, storeId: string, given: readonly GivenFile[]): Promise<string> => {
    const caller = callerOf(ctx);
    requireUnexpired(await storeOf(ctx, storeId));
    const files = await storeFilesOf(ctx, given, openai.files.as(caller));
    const order = { files, deployments: allowedDeployments(caller.scopes, ctx.path) };
    return storesOf(ctx).addFiles(storeId, order);
  };

  serveRoute(
    router,
    {
      id: 'create_vector_store_file',
      at: `post ${STORE}/files`,
      summary: 'Reads a file into a vector store in the background',
      body: StoreFileRequest,
      idle: STORE_FILE_FIELDS.idle,
      answers: answers('The file, which is being read.', StoreFile),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => {
      const request = await readJsonRequest(ctx, STORE_FILE_FIELDS, options);
      await add(ctx, id, [{ param: 'file_id', request }]);
      return storeFileObject(requireStoreFile(request.file_id, await storesOf(ctx).file(id, request.file_id)));
    },
  );
  serveRoute(
    router,
    {
      id: 'list_vector_store_files',
      at: `get ${STORE}/files`,
      summary: 'The files of a vector store, in the order of their uploads',
      query: StoreFilesQuery,
      idle: {},
      answers: answers('A page of files.', StoreFileList),
      fails: [400, 404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id }, query: { after, before, limit, order = 'desc', filter } }) => {
      checkCursor(after, FILE_PREFIX);
      checkCursor(before, FILE_PREFIX, 'before');
      await storeOf(ctx, id);
      const found = await storesOf(ctx).files(id, { after, before, order, status: filter, limit: limit + 1 });
      return listPage(found.map(storeFileObject), limit);
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_vector_store_file',
      at: `get ${STORE}/files/{file_id}`,
      summary: 'A file of a vector store',
      answers: answers('The file.', StoreFile),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, file_id: fileId } }) => {
      await storeOf(ctx, id);
      return storeFileObject(requireStoreFile(fileId, await storesOf(ctx).file(id, fileId)));
    },
  );
  serveRoute(
    router,
    {
      id: 'modify_vector_store_file',
      at: `post ${STORE}/files/{file_id}`,
      summary: 'Replaces the attributes of a file of a vector store',
      body: StoreFileChange,
      idle: STORE_FILE_CHANGE_FIELDS.idle,
      answers: answers('The file.', StoreFile),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, file_id: fileId } }) => {
      const { attributes } = await readJsonRequest(ctx, STORE_FILE_CHANGE_FIELDS, options);
      await storeOf(ctx, id);
      await storesOf(ctx).describe(id, fileId, attributes ?? {});
      return storeFileObject(requireStoreFile(fileId, await storesOf(ctx).file(id, fileId)));
    },
  );
  serveRoute(
    router,
    {
      id: 'delete_vector_store_file',
      at: `delete ${STORE}/files/{file_id}`,
      summary: 'Removes a file from a vector store, but not from `/v1/files`',
      answers: answers('The file is removed from the store.', DeletedStoreFile),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, file_id: fileId } }) => {
      await storeOf(ctx, id);
      requireStoreFile(fileId, await storesOf(ctx).remove(id, fileId));
      return { id: fileId, object: 'vector_store.file.deleted' as const, deleted: true as const };
    },
  );
  serveRoute(
    router,
    {
      id: 'vector_store_file_content',
      at: `get ${STORE}/files/{file_id}/content`,
      summary: 'The texts into which a file of a vector store was divided',
      answers: answers('The texts that are stored, in their order.', StoreFileContent),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, file_id: fileId } }) => {
      const store = await storeOf(ctx, id);
      requireStoreFile(fileId, await storesOf(ctx).file(id, fileId));
      return contentObject(await storesOf(ctx).content(store, fileId));
    },
  );
  serveRoute(
    router,
    {
      id: 'create_vector_store_file_batch',
      at: `post ${STORE}/file_batches`,
      summary: 'Reads files into a vector store in the background',
      body: FileBatchRequest,
      idle: FILE_BATCH_FIELDS.idle,
      answers: answers('The batch, whose files are being read.', FileBatch),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id } }) => {
      const { file_ids: ids, files, ...shared } = await readJsonRequest(ctx, FILE_BATCH_FIELDS, options);
      if ((ids == null) === (files == null))
        throw invalidValue('file_ids', 'a batch has file_ids or files, and not both');
      const given = files
        ? files.map((request, n) => ({ param: `files[${n}].file_id`, request: { ...shared, ...request } }))
        : filesOfIds(ids ?? [], shared);
      if (given.length === 0) throw invalidValue(files ? 'files' : 'file_ids', 'it has no files');
      const batch = await add(ctx, id, given);
      return fileBatchObject(id, requireFileBatch(batch, await storesOf(ctx).batch(id, batch)));
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_vector_store_file_batch',
      at: `get ${STORE}/file_batches/{batch_id}`,
      summary: 'A batch of files, with the number of those that are read',
      answers: answers('The batch.', FileBatch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, batch_id: batchId } }) => {
      await storeOf(ctx, id);
      return fileBatchObject(id, requireFileBatch(batchId, await storesOf(ctx).batch(id, batchId)));
    },
  );
  serveRoute(
    router,
    {
      id: 'cancel_vector_store_file_batch',
      at: `post ${STORE}/file_batches/{batch_id}/cancel`,
      summary: 'Ends a batch of files; those that are read stay in the store',
      answers: answers('The batch, which has ended.', FileBatch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { vector_store_id: id, batch_id: batchId } }) => {
      await storeOf(ctx, id);
      requireFileBatch(batchId, await storesOf(ctx).batch(id, batchId));
      await storesOf(ctx).cancelBatch(id, batchId);
      return fileBatchObject(id, requireFileBatch(batchId, await storesOf(ctx).batch(id, batchId)));
    },
  );
  serveRoute(
    router,
    {
      id: 'list_vector_store_batch_files',
      at: `get ${STORE}/file_batches/{batch_id}/files`,
      summary: 'The files of a batch, in the order of their uploads',
      query: StoreFilesQuery,
      idle: {},
      answers: answers('A page of files.', StoreFileList),
      fails: [400, 404, ...STORED_FAILURES],
    },
    async ({ ctx, params, query: { after, before, limit, order = 'desc', filter } }) => {
      const { vector_store_id: id, batch_id: batch } = params;
      checkCursor(after, FILE_PREFIX);
      checkCursor(before, FILE_PREFIX, 'before');
      await storeOf(ctx, id);
      requireFileBatch(batch, await storesOf(ctx).batch(id, batch));
      const found = await storesOf(ctx).files(id, { after, before, order, batch, status: filter, limit: limit + 1 });
      return listPage(found.map(storeFileObject), limit);
    },
  );
}
