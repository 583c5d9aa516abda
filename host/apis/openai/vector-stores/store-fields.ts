import * as z from 'zod';
import { MAX_NAME, recordOf } from '../../../base/schemas/index.ts';
import { whole } from '../../../base/core/fields.ts';
import type { RequestFields } from '../fields.ts';
import { afterId, orderOf } from '../list-page.ts';
import { Metadata } from '../text/metadata.ts';

const Days = z.int().min(1).max(365);
/** When a store expires. */
export const StoreExpiry = z.object({ anchor: z.literal('last_active_at'), days: Days });

/** How the texts of files are divided, unless a request says it. */
export const DEFAULT_CHUNKING = { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } as const;

const Static = z
  .object({
    max_chunk_size_tokens: z.int().min(100).max(4096),
    chunk_overlap_tokens: z.int().min(0).max(2048),
  })
  .refine(({ max_chunk_size_tokens: most, chunk_overlap_tokens: overlap }) => overlap * 2 <= most, {
    path: ['chunk_overlap_tokens'],
    message: 'must be at most half of max_chunk_size_tokens',
  });
export const StaticChunking = z.object({ type: z.literal('static'), static: Static });
const Chunking = z.discriminatedUnion('type', [z.object({ type: z.literal('auto') }), StaticChunking]);

/** Returns the schema of a text that databases can store. */
const storable = (text: z.ZodString): z.ZodString =>
  text.refine((given) => !given.includes('\0'), 'must not have the character U+0000');
const value = z.union([storable(z.string().max(512, 'must have at most 512 characters')), z.number(), z.boolean()]);
export const Attributes = recordOf(storable(z.string().min(1).max(64)), value, 16);

const fileId = z.string().max(MAX_NAME);
const MAX_FILES = 500;
const storeName = storable(z.string().max(256));

const fileFields = {
  attributes: z
    .nullish(Attributes)
    .describe('Up to 16 texts, numbers and booleans, by which searches can filter the file.'),
  chunking_strategy: z
    .nullish(Chunking)
    .describe(
      'How the text is divided: `{type: "static", static: {max_chunk_size_tokens, chunk_overlap_tokens}}`. Chunks ' +
        'have no more tokens than the embedding model takes. Default: 800 tokens, of which up to 400 repeat the ' +
        'chunk before.',
    ),
};

/** The parameters of `POST /v1/vector_stores` that have an effect. */
export const StoreRequest = z.object({
  name: z.nullish(storeName),
  metadata: Metadata.describe('Texts that the store keeps.'),
  expires_after: z
    .nullish(StoreExpiry)
    .describe('Days without a search or a change after which the store expires. Default: it does not expire.'),
  file_ids: z.nullish(z.array(fileId).max(MAX_FILES)).describe('Files of `/v1/files` that are read into the store.'),
  chunking_strategy: fileFields.chunking_strategy,
});
export type StoreRequest = z.output<typeof StoreRequest>;
export const STORE_FIELDS = {
  schema: StoreRequest,
  idle: { description: { why: 'nothing shows it', isHarmless: true } },
} as const satisfies RequestFields;

/** The parameters of `POST /v1/vector_stores/{vector_store_id}`. Those that are absent stay as they are. */
export const StoreChange = StoreRequest.pick({ name: true, metadata: true, expires_after: true });
export const STORE_CHANGE_FIELDS = { schema: StoreChange, idle: {} } as const satisfies RequestFields;

/** The parameters of `POST /v1/vector_stores/{vector_store_id}/files`. */
export const StoreFileRequest = z.object({ file_id: fileId.describe('A file of `/v1/files`.'), ...fileFields });
export type StoreFileRequest = z.output<typeof StoreFileRequest>;
export const STORE_FILE_FIELDS = { schema: StoreFileRequest, idle: {} } as const satisfies RequestFields;

/** The parameters of `POST /v1/vector_stores/{vector_store_id}/files/{file_id}`. */
export const StoreFileChange = z.object({ attributes: z.nullable(Attributes) });
export const STORE_FILE_CHANGE_FIELDS = { schema: StoreFileChange, idle: {} } as const satisfies RequestFields;

/** The parameters of `POST /v1/vector_stores/{vector_store_id}/file_batches`. */
export const FileBatchRequest = z.object({
  file_ids: StoreRequest.shape.file_ids,
  files: z
    .nullish(z.array(StoreFileRequest).max(MAX_FILES))
    .describe('Files with attributes and chunking of their own, in the place of `file_ids`.'),
  ...fileFields,
});
export const FILE_BATCH_FIELDS = { schema: FileBatchRequest, idle: {} } as const satisfies RequestFields;

const beforeId = (item: string) =>
  z.string().max(256).optional().describe(`The id of the first ${item} of the page behind.`);

/** The query of a list of such items. */
export const listQuery = (item: string) =>
  z.object({
    after: afterId(item),
    before: beforeId(item),
    limit: whole({ min: 1, max: 100, default: 20 }, 'Items of a page: 1 to 100. Default: 20.'),
    order: orderOf(item),
  });

/** The query of lists of files of a store. */
export const StoreFilesQuery = listQuery('file').extend({
  filter: z
    .enum(
      ['in_progress', 'completed', 'failed', 'cancelled'],
      'Input should be in_progress, completed, failed or cancelled',
    )
    .optional()
    .describe('Only files with this status.'),
});
