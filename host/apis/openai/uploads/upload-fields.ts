import * as z from 'zod';
import { MAX_NAME } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';
import { FileRequest } from '../files/file-fields.ts';

/** The parameters of `POST /v1/uploads` that have an effect. */
export const UploadRequest = z.object({
  bytes: z.int().min(1).describe('Bytes of the whole file.'),
  filename: z.string().max(MAX_NAME).describe('The name of the file.'),
  purpose: FileRequest.shape.purpose,
  expires_after: FileRequest.shape.expires_after,
});
export type UploadRequest = z.output<typeof UploadRequest>;

/** All parameters of `POST /v1/uploads`. */
export const UPLOAD_FIELDS = {
  schema: UploadRequest,
  idle: { mime_type: { why: 'files have no type', isHarmless: true } },
} as const satisfies RequestFields;

/** The parameters of `POST /v1/uploads/{upload_id}/parts`. */
export const PartRequest = z.object({
  data: z.string().meta({ format: 'binary' }).describe('The part of the form with the bytes, which has a file name.'),
});

/** All parameters of `POST /v1/uploads/{upload_id}/parts`. */
export const PART_FIELDS = { schema: PartRequest, idle: {} } as const satisfies RequestFields;

const MAX_PARTS = 10_000;

/** The parameters of `POST /v1/uploads/{upload_id}/complete`. */
export const CompletionOfUpload = z.object({
  part_ids: z.array(z.string().max(MAX_NAME)).min(1).max(MAX_PARTS).describe('The parts in the order of the file.'),
  md5: z
    .optional(
      z.nullable(
        z
          .string()
          .max(32)
          .regex(/^[0-9a-f]{32}$/i, 'must be 32 hexadecimal digits'),
      ),
    )
    .describe('The MD5 of the whole file, which is compared.'),
});

/** All parameters of `POST /v1/uploads/{upload_id}/complete`. */
export const COMPLETE_FIELDS = { schema: CompletionOfUpload, idle: {} } as const satisfies RequestFields;
