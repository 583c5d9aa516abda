import * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type { FileRecord } from '../../../data/files/index.ts';
import { invalidValue } from '../fields.ts';
import { listOf } from '../list-page.ts';

export type FileFacts = Omit<FileRecord, 'sha256'>;

/** A file as an answer. */
export const FileObject = z.object({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int().describe('Seconds since 1970.'),
  expires_at: z.int().optional().describe('Seconds since 1970. Absent if the file does not expire.'),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal('processed').describe('A file can be used as soon as it is stored.'),
});

/** A page of files. */
export const FileList = listOf(FileObject);

/** The answer to the removal of a file. */
export const DeletedFile = z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) });

/** Returns a file in the form of OpenAI's API. */
export function fileObject(file: FileFacts): z.output<typeof FileObject> {
  const { id, bytes, filename, purpose, created_at: createdAt, expires_at: expiresAt } = file;
  return {
    id,
    object: 'file',
    bytes,
    created_at: secondsOf(createdAt),
    ...(expiresAt !== null && { expires_at: secondsOf(expiresAt) }),
    filename,
    purpose,
    status: 'processed',
  };
}

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

/** Most characters of a file name. */
const MAX_NAME = 255;

/**
 * Returns the name of an uploaded file. Throws `InvalidParameter` for one that is too long or has control characters.
 */
export function fileName(name: string | undefined, param = 'file'): string {
  if (name === undefined) throw invalidValue(param, 'the part has no file name');
  if (name === '') throw invalidValue(param, 'its file name is empty');
  if (name.length > MAX_NAME) throw invalidValue(param, `its file name has more than ${MAX_NAME} characters`);
  if (/\p{Cc}/u.test(name)) throw invalidValue(param, 'its file name has control characters');
  return name;
}

/** Returns what is found for the id of a file. Throws `StoredFileNotFound` if it is nothing. */
export function requireFile<T>(id: string, found: T, param = 'file_id'): NonNullable<T> {
  if (found) return found;
  const shown = JSON.stringify(id.slice(0, 100));
  throw fail('StoredFileNotFound', `No such File object: ${shown}`, { data: { param } });
}
