import * as z from 'zod';
import { MAX_NAME } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';
import { ExpiresAfter } from '../files/file-fields.ts';
import { Metadata } from '../text/metadata.ts';
import { BATCH_ENDPOINTS } from './batch-operations.ts';

/** The parameters of `POST /v1/batches` that have an effect. */
export const BatchRequest = z.object({
  input_file_id: z.string().max(MAX_NAME).describe('A stored file with a request in each line.'),
  endpoint: z.enum(BATCH_ENDPOINTS).describe('The path of all requests.'),
  completion_window: z.literal('24h').describe('The time after which the batch expires.'),
  metadata: Metadata.describe('Texts that the batch keeps.'),
  output_expires_after: z
    .optional(z.nullable(ExpiresAfter))
    .describe(
      'When the files of the batch expire: `{anchor: created_at, seconds}`. Default: `openai.files.retention`.',
    ),
});
export type BatchRequest = z.output<typeof BatchRequest>;

/** All parameters of `POST /v1/batches`. */
export const BATCH_FIELDS = { schema: BatchRequest, idle: {} } as const satisfies RequestFields;
