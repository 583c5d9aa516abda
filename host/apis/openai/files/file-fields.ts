import * as z from 'zod';
import type { RequestFields } from '../fields.ts';

const HOUR_S = 3600;
const MONTH_S = 2_592_000;

/** When a file expires. */
export const ExpiresAfter = z.object({
  anchor: z.literal('created_at'),
  seconds: z.int().min(HOUR_S).max(MONTH_S),
});

/** The parameters of `POST /v1/files` that have an effect. */
export const FileRequest = z.object({
  file: z.string().meta({ format: 'binary' }).describe('The part with the file, which has a file name.'),
  purpose: z
    .enum(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'])
    .describe('`batch` for the requests of a batch. Files of other purposes are only kept.'),
  expires_after: z
    .optional(z.nullable(ExpiresAfter))
    .describe('When the file expires: `{anchor: created_at, seconds}`. Default: `openai.files.retention`.'),
});
export type FileRequest = z.output<typeof FileRequest>;

/** All parameters of `POST /v1/files`. */
export const FILE_FIELDS = { schema: FileRequest, idle: {} } as const satisfies RequestFields;
