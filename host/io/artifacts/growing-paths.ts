import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import { Artifact } from '../../base/schemas/index.ts';
import { notFound } from './artifact-path.ts';

/**
 * Returns the paths of files that another process still writes, and of the file beside them that appears when they are
 * complete. Throws `ArtifactNotFound` when one of the former is missing, and `ValidationError` for what is no id.
 * @param roots the folders that contain artifacts
 */
export async function growingPaths(
  ids: readonly string[],
  endId: string,
  roots: readonly string[],
): Promise<{ readonly files: readonly string[]; readonly end: string }> {
  const unsafe = [...ids, endId].find((id) => !Artifact.shape.id.safeParse(id).success);
  if (unsafe !== undefined) throw fail('ValidationError', 'expected the ids of growing artifacts');
  for (const root of roots) {
    const files = ids.map((id) => join(root, id));
    const found = await Promise.all(files.map(isFile));
    if (found.every(Boolean)) return { files, end: join(root, endId) };
  }
  throw notFound(ids[0] ?? endId, 'it is not there any more, or never was');
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
