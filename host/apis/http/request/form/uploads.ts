import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactOf } from '../../../../io/artifacts/index.ts';
import type { UploadedFile } from '../../../../endpoints/registry/index.ts';
import { withoutFolders } from './file-names.ts';
import { diskFull } from './form-failures.ts';

export interface UploadFolders {
  /** A folder that exists, or a function that makes one and returns it. */
  readonly tempDir: string | (() => Promise<string>);
  /** The folder that ids of uploads are relative to. Default: `tempDir`. */
  readonly artifactsDir?: string | undefined;
}

/** Makes a folder for the files of one request. */
export async function makeUploadDir({ tempDir }: UploadFolders): Promise<[tempDir: string, uploadDir: string]> {
  const parent = typeof tempDir === 'string' ? tempDir : await tempDir();
  return [parent, await mkdtemp(join(parent, 'upload-'))];
}

/** A file as formidable reports it. */
export interface FormidableFile {
  readonly filepath: string;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
}

/**
 * Returns the uploaded files by the names of their parts. Throws `DiskFullException` for a file that is not on the disk
 * as it was sent.
 */
export async function uploadedFiles(
  parts: Record<string, FormidableFile | FormidableFile[]>,
  artifactsDir: string,
): Promise<Map<string, UploadedFile>> {
  const files = new Map<string, UploadedFile>();
  for (const [name, part] of Object.entries(parts)) {
    const { filepath: path, originalFilename, mimetype, size: bytes, hash } = [part].flat()[0] as FormidableFile;
    // formidable counts a file as stored, and reports the sent size, even if the last writes have failed.
    const artifact = await artifactOf(artifactsDir, path, hash).catch(() => undefined);
    if (artifact?.bytes !== bytes) throw diskFull();
    const filename = originalFilename && withoutFolders(originalFilename);
    files.set(name, {
      path,
      artifact,
      bytes,
      ...(filename ? { filename } : {}),
      ...(mimetype ? { mimeType: mimetype } : {}),
    });
  }
  return files;
}
