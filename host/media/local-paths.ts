import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathDeniedError, pathUnusableError } from './errors.ts';

/** Longer ones name no file anywhere; following each of their parts takes minutes. */
const MAX_PATH_LENGTH = 4096;

/**
 * The real path of the regular file that `path` names, when it lies under one of `allowed`; links are followed on both sides first.
 * Throws `PathNotAllowedException` for everything outside, whether it exists or not, and `FileNotFoundError` inside.
 */
export async function allowedFile(path: string, allowed: readonly string[]): Promise<string> {
  if (path.includes('\0')) throw pathDeniedError(path);
  if (path.length > MAX_PATH_LENGTH) throw pathUnusableError(`${path.slice(0, 100)}…`, `is longer than ${MAX_PATH_LENGTH} characters`);
  const roots = (await Promise.all(allowed.map(realOrNothing))).filter((root) => root !== undefined);
  const place = await placeOf(resolve(path));
  if (!place || !roots.some((root) => isInside(place.path, root))) throw pathDeniedError(path);
  if (!place.exists) throw pathUnusableError(path, 'does not exist');
  if (!(await stat(place.path)).isFile()) throw pathUnusableError(path, 'is not a regular file');
  return place.path;
}

interface Place {
  readonly path: string;
  readonly exists: boolean;
}

/** The path with all links followed; for a missing one, that of its nearest existing folder and the rest. Nothing for a dangling link. */
async function placeOf(path: string): Promise<Place | undefined> {
  const real = await realOrNothing(path);
  if (real !== undefined) return { path: real, exists: true };
  if (await isThere(path)) return undefined;
  const parent = dirname(path);
  const parentPlace = parent === path ? undefined : await placeOf(parent);
  return parentPlace && { path: join(parentPlace.path, basename(path)), exists: false };
}

async function realOrNothing(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isInside(path: string, root: string): boolean {
  const rest = relative(root, path);
  return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}
