import * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type { Upload } from '../../../data/files/index.ts';
import { type FileFacts, FileObject, fileObject } from '../files/file-object.ts';

type UploadFacts = Omit<Upload, 'file_id' | 'file_expires_after' | 'file'> & { readonly file: FileFacts | undefined };

/** An upload as an answer. */
export const UploadObject = z.object({
  id: z.string(),
  object: z.literal('upload'),
  bytes: z.int().describe('Of the whole file, as announced.'),
  created_at: z.int().describe('Seconds since 1970.'),
  expires_at: z.int().describe('Seconds since 1970. A pending upload and its parts are removed then.'),
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(['pending', 'completed', 'cancelled', 'expired']),
  file: FileObject.nullable().describe('The file of a completed upload.'),
});

/** A part of an upload as an answer. */
export const PartObject = z.object({
  id: z.string(),
  object: z.literal('upload.part'),
  created_at: z.int().describe('Seconds since 1970.'),
  upload_id: z.string(),
});

/** Returns an upload in the form of OpenAI's API. */
export function uploadObject(upload: UploadFacts): z.output<typeof UploadObject> {
  const { id, bytes, filename, purpose, status, created_at: createdAt, expires_at: expiresAt, file } = upload;
  return {
    ...{ id, object: 'upload', bytes, filename, purpose, status },
    created_at: secondsOf(createdAt),
    expires_at: secondsOf(expiresAt),
    file: file ? fileObject(file) : null,
  };
}

/** Returns a part in the form of OpenAI's API; `createdAt` is in milliseconds since 1970. */
export function partObject(id: string, uploadId: string, createdAt: number): z.output<typeof PartObject> {
  return { id, object: 'upload.part', created_at: secondsOf(createdAt), upload_id: uploadId };
}

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

/** Returns what is found for the id of an upload. Throws `UploadNotFound` if it is nothing. */
export function requireUpload<T>(id: string, found: T): NonNullable<T> {
  if (found) return found;
  const shown = JSON.stringify(id.slice(0, 100));
  throw fail('UploadNotFound', `No upload found with id ${shown}.`, {
    data: { param: 'upload_id' },
  });
}
