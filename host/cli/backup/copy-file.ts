import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncFile } from '../../data/storage/index.ts';

export interface CopiedFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Copies a file, which only this user can then read, syncs it, and returns its length and its SHA-256. */
export async function copyFileHashed(from: string, to: string, signal: AbortSignal): Promise<CopiedFile> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    await pipeline(
      createReadStream(from),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(to, { mode: 0o600 }),
      { signal },
    );
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  }
  await syncFile(to);
  return { bytes, sha256: hash.digest('hex') };
}

/** Returns the length and the SHA-256 of a file. */
export async function hashedFile(path: string, signal: AbortSignal): Promise<CopiedFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
