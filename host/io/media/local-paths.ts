import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathDeniedError, pathUnusableError } from './errors.ts';

/** Longer paths are refused, because they name no file and resolving each of their parts takes minutes. */
const MAX_PATH_LENGTH = 4096;

/** A file that a client named by path. It is open until it is disposed. */
export interface AllowedFile extends AsyncDisposable {
  /**
   * A path to read it by. Where the system supports it, the path refers to the open file and not to its place in the
   * folder.
   */
  readonly path: string;
}

/**
 * Opens the regular file at `path` if it lies in one of the folders `allowed`. Links in `path` and in `allowed` are
 * resolved first. The opened file is checked again, because somebody may have replaced it in between. Throws
 * `PathNotAllowedException` for every path outside, existing or not, and `FileNotFoundError` for a path inside.
 */
export async function openAllowed(path: string, allowed: readonly string[]): Promise<AllowedFile> {
  if (path.includes('\0')) throw pathDeniedError(path);
  if (path.length > MAX_PATH_LENGTH)
    throw pathUnusableError(`${path.slice(0, 100)}…`, `is longer than ${MAX_PATH_LENGTH} characters`);
  const roots = (await Promise.all(allowed.map(realOrNothing))).filter((root) => root !== undefined);
  const isAllowed = (real: string): boolean => roots.some((root) => isInside(real, root));
  const real = await realPathOf(resolve(path));
  if (!real || !isAllowed(real.path)) throw pathDeniedError(path);
  if (!real.exists) throw pathUnusableError(path, 'does not exist');
  // Checked before opening, because opening a device may have effects.
  if (!(await stat(real.path)).isFile()) throw pathUnusableError(path, 'is not a regular file');
  return openRealPath(path, real.path, isAllowed);
}

/** @internal exported for its test: opens the file after the first check of the path */
export async function openRealPath(
  path: string,
  real: string,
  isAllowed: (real: string) => boolean,
): Promise<AllowedFile> {
  let file: FileHandle;
  try {
    // NONBLOCK: a pipe without a writer must not block.
    file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
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
 * Returns the real path of the open file, and a path with which child processes of this user open the same file.
 * Returns undefined if the system has no such paths.
 */
async function nameOfOpen(file: FileHandle): Promise<{ readonly real: string; readonly name: string } | undefined> {
  const name = `/proc/${process.pid}/fd/${file.fd}`;
  try {
    const real = await readlink(name);
    // A program with file capabilities hides its files from its children.
    return (await stat(`/proc/${process.pid}`)).uid === process.geteuid?.() ? { real, name } : undefined;
  } catch {
    return undefined;
  }
}

interface RealPath {
  readonly path: string;
  readonly exists: boolean;
}

/**
 * Returns the path with all links resolved. For a missing path, resolves the nearest existing folder and appends the
 * rest. Returns undefined for a dangling link.
 */
async function realPathOf(path: string): Promise<RealPath | undefined> {
  const real = await realOrNothing(path);
  if (real !== undefined) return { path: real, exists: true };
  if (await isThere(path)) return undefined;
  const parent = dirname(path);
  const parentPath = parent === path ? undefined : await realPathOf(parent);
  return parentPath && { path: join(parentPath.path, basename(path)), exists: false };
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
