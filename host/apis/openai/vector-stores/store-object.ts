import * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type {
  FileCounts as Counts,
  StoreFileBatch,
  StoreFileRecord,
  StoredChunk,
  VectorStoreRecord,
} from '../../../data/storage/index.ts';
import { listOf } from '../list-page.ts';
import { Attributes, StaticChunking, StoreExpiry } from './store-fields.ts';

const FileCounts = z.object({
  in_progress: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  total: z.int(),
});
const seconds = z.int().describe('Seconds since 1970.');

/** A vector store as an answer. */
export const VectorStore = z.object({
  id: z.string(),
  object: z.literal('vector_store'),
  created_at: seconds,
  name: z.string().describe('Empty for a store without a name.'),
  usage_bytes: z.int().describe('Of the texts of its files with their vectors.'),
  file_counts: FileCounts,
  status: z
    .enum(['in_progress', 'completed', 'expired'])
    .describe('`in_progress`: files are being read, or get new vectors after a change of the model.'),
  expires_after: z.nullable(StoreExpiry),
  expires_at: seconds.nullable(),
  last_active_at: seconds.describe('Seconds since 1970, with the precision of a minute.'),
  metadata: z.record(z.string(), z.string()).nullable(),
});
export const VectorStoreList = listOf(VectorStore);
export const DeletedStore = z.object({
  id: z.string(),
  object: z.literal('vector_store.deleted'),
  deleted: z.literal(true),
});

/** A file of a store as an answer. */
export const StoreFile = z.object({
  id: z.string().describe('That of the file of `/v1/files`.'),
  object: z.literal('vector_store.file'),
  created_at: seconds.describe('When the file was added, in seconds since 1970.'),
  vector_store_id: z.string(),
  usage_bytes: z.int(),
  status: z.enum(['in_progress', 'completed', 'cancelled', 'failed']),
  last_error: z
    .object({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
    .nullable(),
  attributes: Attributes,
  chunking_strategy: StaticChunking,
});
export const StoreFileList = listOf(StoreFile);
export const DeletedStoreFile = z.object({
  id: z.string(),
  object: z.literal('vector_store.file.deleted'),
  deleted: z.literal(true),
});
export const StoreFileContent = z.object({
  object: z.literal('vector_store.file_content.page'),
  data: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  has_more: z.literal(false),
  next_page: z.null(),
});

/** A batch of files as an answer. */
export const FileBatch = z.object({
  id: z.string(),
  object: z.literal('vector_store.files_batch'),
  created_at: seconds,
  vector_store_id: z.string(),
  status: z.enum(['in_progress', 'completed', 'cancelled', 'failed']),
  file_counts: FileCounts,
});

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

function countsOf(counts: Counts): z.output<typeof FileCounts> {
  const { in_progress, completed, failed, cancelled } = counts;
  return { in_progress, completed, failed, cancelled, total: in_progress + completed + failed + cancelled };
}

export function storeObject(store: VectorStoreRecord): z.output<typeof VectorStore> {
  const { id, name, metadata, counts, isExpired, usage_bytes, expires_after_days: days, expires_at: expiry } = store;
  return {
    id,
    object: 'vector_store',
    created_at: secondsOf(store.created_at),
    name,
    usage_bytes,
    file_counts: countsOf(counts),
    status: isExpired ? 'expired' : counts.in_progress > 0 ? 'in_progress' : 'completed',
    expires_after: days === null ? null : { anchor: 'last_active_at', days },
    expires_at: expiry === null ? null : secondsOf(expiry),
    last_active_at: secondsOf(store.last_active_at),
    metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, string>),
  };
}

export function storeFileObject(file: StoreFileRecord): z.output<typeof StoreFile> {
  const { error_code: code, error_message: message } = file;
  return {
    id: file.file_id,
    object: 'vector_store.file',
    created_at: secondsOf(file.created_at),
    vector_store_id: file.store_id,
    usage_bytes: file.usage_bytes,
    status: file.status,
    last_error: code === null ? null : { code, message: message ?? '' },
    attributes: JSON.parse(file.attributes) as z.output<typeof Attributes>,
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: file.max_chunk_tokens, chunk_overlap_tokens: file.chunk_overlap_tokens },
    },
  };
}

export function fileBatchObject(storeId: string, batch: StoreFileBatch): z.output<typeof FileBatch> {
  const { counts, cancelled_at: cancelledAt } = batch;
  const ended = counts.completed === 0 && counts.failed > 0 ? 'failed' : 'completed';
  return {
    id: batch.id,
    object: 'vector_store.files_batch',
    created_at: secondsOf(batch.created_at),
    vector_store_id: storeId,
    status: counts.in_progress > 0 ? 'in_progress' : cancelledAt === null ? ended : 'cancelled',
    file_counts: countsOf(counts),
  };
}

export function contentObject(chunks: readonly StoredChunk[]): z.output<typeof StoreFileContent> {
  return {
    object: 'vector_store.file_content.page',
    data: chunks.map(({ text }) => ({ type: 'text', text })),
    has_more: false,
    next_page: null,
  };
}

const NOT_FOUND = {
  vector_store_id: ['VectorStoreNotFound', 'vector store'],
  file_id: ['VectorStoreFileNotFound', 'file in the vector store'],
  batch_id: ['VectorStoreBatchNotFound', 'batch of files in the vector store'],
} as const;

/** Returns what is found for an id. Throws the error of its kind, which names its parameter, if it is nothing. */
function requireOne<T>(kind: keyof typeof NOT_FOUND, id: string, found: T, param: string = kind): NonNullable<T> {
  if (found) return found;
  const [error, what] = NOT_FOUND[kind];
  throw fail(error, `No ${what} found with id ${JSON.stringify(id.slice(0, 100))}.`, { data: { param } });
}
export const requireStore = <T>(id: string, found: T, param?: string): NonNullable<T> =>
  requireOne('vector_store_id', id, found, param);
export const requireStoreFile = <T>(id: string, found: T): NonNullable<T> => requireOne('file_id', id, found);
export const requireFileBatch = <T>(id: string, found: T): NonNullable<T> => requireOne('batch_id', id, found);
