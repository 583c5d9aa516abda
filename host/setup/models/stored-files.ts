import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ONNX_FILES, ONNX_WEIGHTS } from './convert/text-onnx/gguf-to-onnx.ts';
import type { ModelTarget } from './model-target.ts';
import { packagesFolder } from './sources/node-packages.ts';

/**
 * Returns the bytes of the packages beside a file that loads them: those on this machine, or else those that a pull
 * downloads. 0 for other files.
 */
export async function bytesBeside({ sources }: ModelTarget, file: string, isHere: boolean): Promise<number> {
  const packages = sources.flatMap((source) => (source.from === 'node-packages' ? source.packages : []));
  if (packages.length === 0) return 0;
  if (isHere) return await bytesIn(packagesFolder(file)).catch(() => 0);
  return packages.reduce((sum, { package: { bytes } }) => sum + (bytes ?? 0), 0);
}

/** Returns the length of a file, or of all files below a folder. */
export async function bytesIn(place: string): Promise<number> {
  const found = await stat(place);
  if (!found.isDirectory()) return found.size;
  let bytes = 0;
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  return bytes;
}

/** Returns the file, the files and packages that belong to it, and the files of unfinished pulls beside it. */
export async function leftoversOf(file: string): Promise<string[]> {
  const folder = path.dirname(file);
  const name = path.basename(file);
  const names = await readdir(folder).catch(() => []);
  const root = path.dirname(folder);
  const parts = file === path.join(root, ONNX_WEIGHTS) ? ONNX_FILES.map((part) => path.join(root, part)) : [];
  const isOurs = (candidate: string): boolean =>
    candidate === name ||
    candidate === `.work-${name}` ||
    (candidate.startsWith(`${name}.`) &&
      /\.(partial|etag|intermediate|verified|making|packages|packed)$/.test(candidate));
  return [...names.filter(isOurs).map((found) => path.join(folder, found)), ...parts.filter(existsSync)];
}
