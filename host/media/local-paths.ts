import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathDeniedError, pathUnusableError } from './errors.ts';

/** Longer ones name no file anywhere; following each of their parts takes minutes. */
const MAX_PATH_LENGTH = 4096;

/** A file that a client named by path; open until it is disposed. */
export interface AllowedFile extends AsyncDisposable {
  /**
   * What it can be read by: where the system has it, a name of the open file rather than of the place where it lies.
   */
  readonly path: string;
}

/**
 * Opens the regular file that `path` names, when it lies under one of `allowed`; links are followed on both sides
 * first, and the file that was opened is checked again, so that nobody puts another in its place meanwhile. Throws
 * `PathNotAllowedException` for everything outside, whether it exists or not, and `FileNotFoundError` inside.
 */
export async function openAllowed(path: string, allowed: readonly string[]): Promise<AllowedFile> {
  if (path.includes('\0')) throw pathDeniedError(path);
  if (path.length > MAX_PATH_LENGTH)
    throw pathUnusableError(`${path.slice(0, 100)}…`, `is longer than ${MAX_PATH_LENGTH} characters`);
  const roots = (await Promise.all(allowed.map(realOrNothing))).filter((root) => root !== undefined);
  const isAllowed = (real: string): boolean => roots.some((root) => isInside(real, root));
  const place = await placeOf(resolve(path));
  if (!place || !isAllowed(place.path)) throw pathDeniedError(path);
  if (!place.exists) throw pathUnusableError(path, 'does not exist');
  if (!(await stat(place.path)).isFile()) throw pathUnusableError(path, 'is not a regular file'); // before it is opened: a device may do something then
  return openPlace(path, place.path, isAllowed);
}

/** @internal for the test: what happens after the first look at the path */
export async function openPlace(
  path: string,
  real: string,
  isAllowed: (real: string) => boolean,
): Promise<AllowedFile> {
  let file: FileHandle;
  try {
    file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK); // of a pipe in its place, nobody need be at the other end
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ELOOP') throw pathDeniedError(path);
    throw pathUnusableError(path, code === 'ENOENT' ? 'does not exist' : `cannot be read (${String(code)})`);
  }
  try {
    const opened = await nameOfOpen(file);
    if (opened !== undefined && !isAllowed(opened.real)) throw pathDeniedError(path);
    if (!(await file.stat()).isFile()) throw pathUnusableError(path, 'is not a regular file');
    return { path: opened?.name ?? real, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Where the open file lies, and a name by which children of this user open that very file; nothing where the system has
 * no such names for us.
 */
async function nameOfOpen(file: FileHandle): Promise<{ readonly real: string; readonly name: string } | undefined> {
  const name = `/proc/${process.pid}/fd/${file.fd}`;
  try {
    const real = await readlink(name);
    // a program with capabilities of its own hides its files from its children
    return (await stat(`/proc/${process.pid}`)).uid === process.geteuid?.() ? { real, name } : undefined;
  } catch {
    return undefined;
  }
}

interface Place {
  readonly path: string;
  readonly exists: boolean;
}

/**
 * The path with all links followed; for a missing one, that of its nearest existing folder and the rest. Nothing for a
 * dangling link.
 */
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
