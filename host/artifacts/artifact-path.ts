import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { Artifact } from '../schemas/index.ts';

/** Bytes that are hashed at a time: they take a fraction of a millisecond of the thread. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Returns the path of an artifact's bytes on this machine, for reading. It is there as long as the call that brought
 * the artifact runs. Throws `ArtifactNotFound` when the file is not there or has another length than it should, which
 * the caller cannot help, and `ValidationError` for what is no artifact.
 * @param roots the folders that ids are below; none where no host has named one
 */
export async function artifactPath(artifact: Artifact, roots: readonly string[]): Promise<string> {
  const checked = Artifact.safeParse(artifact);
  if (!checked.success)
    throw new AanaError(
      'ValidationError',
      'invalid-input',
      'this is no artifact: an object with id, bytes and sha256 is one',
    );
  const { id, bytes } = checked.data;
  let missing = notFound(id, 'the host has named no folder of artifacts');
  for (const root of roots) {
    const path = join(root, id); // `id` has no `..`, see its schema
    try {
      const found = await stat(path);
      if (found.isFile() && found.size === bytes) return path;
      throw notFound(id, found.isFile() ? `it has ${found.size} bytes, not ${bytes}` : 'it is no file');
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
 * Returns what {@link artifactPath} does once all bytes were read and have the artifact's checksum. Throws
 * `ArtifactNotFound` also for bytes with another one.
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

function notFound(id: string, reason: string, cause?: unknown): AanaError {
  return new AanaError('ArtifactNotFound', 'internal', `artifact ${id} cannot be opened: ${reason}`, {
    data: { id },
    cause,
  });
}
