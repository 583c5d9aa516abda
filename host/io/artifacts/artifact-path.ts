import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError, fail } from '../../base/core/errors.ts';
import { Artifact } from '../../base/schemas/index.ts';

/** Bytes that are hashed at a time, in a fraction of a millisecond of the thread. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Returns the path of the file of an artifact, for reading. The file exists for as long as the call that has the
 * artifact runs. Throws `ArtifactNotFound` when the file does not exist or has another length, and `ValidationError`
 * when `artifact` is not an artifact.
 * @param roots the folders that contain artifacts; empty when no host has named one
 */
export async function artifactPath(artifact: Artifact, roots: readonly string[]): Promise<string> {
  const checked = Artifact.safeParse(artifact);
  if (!checked.success) throw fail('ValidationError', 'expected an artifact: an object with id, bytes and sha256');
  const { id, bytes } = checked.data;
  let missing = notFound(id, 'the host has named no folder of artifacts');
  for (const root of roots) {
    const path = join(root, id); // `id` has no `..`, see its schema
    try {
      const found = await stat(path);
      if (found.isFile() && found.size === bytes) return path;
      throw notFound(id, found.isFile() ? `it has ${found.size} bytes, not ${bytes}` : 'it is not a file');
    } catch (error) {
      if (error instanceof AanaError) throw error;
      missing = notFound(
        id,
        error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read',
        error,
      );
    }
  }
  throw missing;
}

/**
 * Returns the same as {@link artifactPath}, after it has read all bytes and compared their checksum. Throws
 * `ArtifactNotFound` also when the checksum differs.
 */
export async function verifiedPath(
  artifact: Artifact,
  roots: readonly string[],
  signal?: AbortSignal,
): Promise<string> {
  const path = await artifactPath(artifact, roots);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, signal }))
    hash.update(chunk as Buffer);
  if (hash.digest('hex') !== artifact.sha256) throw notFound(artifact.id, 'its bytes have another SHA-256');
  return path;
}

export function notFound(id: string, reason: string, cause?: unknown): AanaError {
  return fail('ArtifactNotFound', `artifact ${id} cannot be opened: ${reason}`, {
    data: { id },
    cause,
  });
}
