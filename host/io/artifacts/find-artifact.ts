import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { Artifact } from '../../base/schemas/index.ts';

export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
}

/** Files of audio that is being decoded. */
export interface GrowingFiles {
  /** One for each channel. Samples are appended to it. */
  readonly files: readonly string[];
  /** A file that appears, complete, when the others are; see `GrowingAudioReference`. */
  readonly end: string;
  /** Returns why this process has removed the files; undefined if it has not. */
  readonly failure: () => unknown;
}

/**
 * Returns the file with this id below one of the folders; undefined when this process sees none. Throws
 * `ArtifactNotFound` for what is not a file or is reached through a link, which could lead out of the folder, and
 * `ValidationError` for what is no id.
 */
export async function findArtifact(id: string, roots: readonly string[]): Promise<FoundFile | undefined> {
  if (!Artifact.shape.id.safeParse(id).success) throw fail('ValidationError', 'expected the id of an artifact');
  for (const root of roots) {
    const path = join(root, id); // `id` has no `..`, see its schema
    const found = await lstat(path).catch(() => undefined);
    if (!found) continue;
    if (!found.isFile()) throw notFound(id, 'it is not a file');
    const [top, real] = await Promise.all([realpath(root), realpath(path)]).catch(() => []);
    if (top === undefined || real !== join(top, id)) throw notFound(id, 'its path leads through a link');
    return { path, bytes: found.size };
  }
  return undefined;
}

/**
 * Returns the path of an artifact below one of the folders; undefined when this process sees none. Throws
 * `ArtifactNotFound` when the file has another length, and `ValidationError` when `artifact` is not an artifact.
 */
export async function localArtifact(artifact: Artifact, roots: readonly string[]): Promise<string | undefined> {
  const checked = Artifact.safeParse(artifact);
  if (!checked.success) throw fail('ValidationError', 'expected an artifact: an object with id, bytes and sha256');
  const { id, bytes } = checked.data;
  const found = await findArtifact(id, roots);
  if (found && found.bytes !== bytes) throw notFound(id, `it has ${found.bytes} bytes, not ${bytes}`);
  return found?.path;
}

/** Returns the files of audio that a process on this machine decodes; undefined when this process does not see them. */
export async function findGrowing(
  ids: readonly string[],
  endId: string,
  roots: readonly string[],
): Promise<GrowingFiles | undefined> {
  const [first, ...others] = await Promise.all(ids.map((id) => findArtifact(id, roots)));
  if (!first || others.includes(undefined)) return undefined;
  const files = [first, ...others].flatMap((found) => found?.path ?? []);
  const root = first.path.slice(0, -(ids[0]?.length ?? 0));
  return { files, end: join(root, endId), failure: () => undefined };
}

export function notFound(id: string, reason: string, cause?: unknown): AanaError {
  return fail('ArtifactNotFound', `artifact ${id} cannot be opened: ${reason}`, {
    data: { id },
    cause,
  });
}
