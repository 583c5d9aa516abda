import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fromFormidable } from './form-failures.ts';
import type { FormLimits } from './read-form.ts';
import { makeUploadDir, type UploadFolders } from './uploads.ts';

/**
 * Writes bytes that came inside of a request, or those of a stream, to a file, and removes it after `work`, which gets
 * its path. Throws `DiskFullException` if they do not fit on the disk.
 */
export async function withTemporaryFile<Result>(
  bytes: Uint8Array | Readable,
  { limits, ...folders }: UploadFolders & { readonly limits: FormLimits },
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const translated = (error: unknown): never => {
    throw fromFormidable(error, limits);
  };
  const [, folder] = await makeUploadDir(folders).catch(translated);
  try {
    const path = join(folder, 'file');
    await writeFile(path, bytes).catch(translated);
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  }
}
