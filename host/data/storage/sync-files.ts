import { copyFile, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Syncs the content of a file to the disk. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Syncs the names in a folder to the disk. On Windows this does nothing, because Windows opens no folders and syncs
 * names itself.
 */
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
 * Syncs a folder and its parents like {@link syncFolder}, up to the parent of `made`. `made` is the result of `mkdir`.
 */
export async function syncMadeFolders(path: string, made: string | undefined): Promise<void> {
  const top = made === undefined ? path : dirname(made);
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}

/** Moves a file, or copies it if `to` is on another file system. */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await copyFile(from, to);
  }
}
