import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Resolves when the content of a file is on the disk. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Resolves when the names in a folder are on the disk. Windows keeps them by itself, and opens no folders. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * As {@link syncFolder}, for a folder and those that it lies in, up to the one that `made` was made in; `made` is what
 * `mkdir` gives.
 */
export async function syncMadeFolders(path: string, made: string | undefined): Promise<void> {
  const top = made === undefined ? path : dirname(made);
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}
