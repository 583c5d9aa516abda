import { stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import type { Artifact } from '../../base/schemas/index.ts';

/**
 * Returns the artifact of a file below `root`. Processes that know `root` find it there, and others ask for its bytes.
 * The file must not change afterwards.
 * @param sha256 of all bytes of the file, hexadecimal
 */
export async function artifactOf(root: string, file: string, sha256: string): Promise<Artifact> {
  const { size } = await stat(file);
  return { id: relative(root, file).split(sep).join('/'), bytes: size, sha256 };
}
