import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { Artifact } from '../schemas/index.ts';

/** The variable of a replica's environment that says where artifacts lie. */
export const ARTIFACTS_DIR = 'AANA_ARTIFACTS_DIR';

/**
 * Returns the path of an artifact's bytes on this machine, for reading. It is there as long as the call that brought the artifact runs. Throws
 * `ArtifactNotFound` when the file is not there or has another length than it should, which the caller cannot help, and `ValidationError` for what is no
 * artifact.
 * @param root the folder that ids are below; undefined where no host has named one
 */
export async function artifactPath(artifact: Artifact, root: string | undefined): Promise<string> {
  const checked = Artifact.safeParse(artifact);
  if (!checked.success) throw new AanaError('ValidationError', 'invalid-input', 'this is no artifact: an object with id, bytes and sha256 is one');
  const { id, bytes } = checked.data;
  if (root === undefined || root === '') throw notFound(id, `${ARTIFACTS_DIR} does not say where artifacts lie`);
  const path = join(root, id); // `id` has no `..`, see its schema
  const found = await stat(path).catch((cause: unknown) => {
    throw notFound(id, cause instanceof Error && 'code' in cause ? String(cause.code) : 'it cannot be read', cause);
  });
  if (!found.isFile() || found.size !== bytes) throw notFound(id, `it has ${found.size} bytes, not ${bytes}`);
  return path;
}

function notFound(id: string, reason: string, cause?: unknown): AanaError {
  return new AanaError('ArtifactNotFound', 'internal', `artifact ${id} cannot be opened: ${reason}`, { data: { id }, cause });
}
