import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { partNames } from '../../base/core/model-files/split-file-names.ts';
import { catalogue, findEntry, variantsOf } from './catalogue/catalogue.ts';
import { findHubModel, hubModels } from './sources/hub-models.ts';
import {
  hubFolder,
  importFolder,
  isImportId,
  isPathId,
  type ModelTarget,
  parseHubReference,
  targetOfEntry,
  targetOfHubFile,
} from './model-target.ts';
import { requantizedFolders } from './requantized.ts';
import { readSidecar, type Sidecar } from './sidecar.ts';
import { bestGguf, isProjector } from './sources/gguf-choice.ts';

/** The meaning of an id, as far as the disk can tell. */
export type Lookup =
  /** A file outside the store. */
  | { readonly state: 'path'; readonly file: string }
  | { readonly state: 'target'; readonly target: ModelTarget }
  /** A repository without any file on this machine. */
  | { readonly state: 'repo'; readonly repo: string }
  | { readonly state: 'unknown' };

export async function lookUp(id: string, cacheDir: string): Promise<Lookup> {
  if (isPathId(id) && !/@[a-z0-9_]+$/.test(id))
    return { state: 'path', file: path.resolve(id.replace(/^~(?=[\\/])/, homedir())) };
  const entry = findEntry(id);
  if (entry) return { state: 'target', target: targetOfEntry(entry) };
  if (/\.(gguf|bin|onnx)$/i.test(id) && (await isFile(path.resolve(id))))
    return { state: 'path', file: path.resolve(id) };
  if (id.includes('@')) {
    for (const folder of await requantizedFolders(cacheDir)) {
      const stored = (await storedIn(path.join(cacheDir, folder))).find(({ sidecar }) => sidecar.id === id);
      if (stored) return { state: 'target', target: targetOfSidecar(stored, folder) };
    }
    return { state: 'unknown' };
  }
  if (isImportId(id)) {
    const [stored] = await storedIn(path.join(cacheDir, importFolder(id)));
    if (stored) return { state: 'target', target: targetOfSidecar(stored, importFolder(id)) };
    const known = findHubModel(id);
    return known ? lookUp(known.repo, cacheDir) : { state: 'unknown' };
  }
  const reference = parseHubReference(id);
  if (!reference) return { state: 'unknown' };
  if (reference.file !== undefined) return { state: 'target', target: targetOfHubFile(reference.repo, reference.file) };
  const stored = await storedIn(path.join(cacheDir, hubFolder(reference.repo)));
  const chosen = bestGguf(stored.map(({ file }) => file).filter((file) => !isProjector(file)));
  const found = stored.find(({ file }) => file === chosen);
  return found
    ? { state: 'target', target: targetOfSidecar(found, hubFolder(reference.repo)) }
    : { state: 'repo', repo: reference.repo };
}

export interface StoredFile {
  /** Its path in the folder. */
  readonly file: string;
  readonly sidecar: Sidecar;
}

/** Returns the verified models below a folder of the store: their files, or the first of their parts. */
export async function storedIn(folder: string): Promise<StoredFile[]> {
  const names = new Set(await readdir(folder, { recursive: true }).catch(() => []));
  const found: StoredFile[] = [];
  for (const name of names) {
    if (!name.endsWith('.json')) continue;
    const file = name.slice(0, -'.json'.length);
    if (!names.has(file) || partNames(file)[0] !== file) continue; // a repository has files of its own with this ending
    const sidecar = await readSidecar(path.join(folder, file));
    if (sidecar) found.push({ file, sidecar });
  }
  return found;
}

/** Returns the target for a stored file that is not in the catalogue. */
export function targetOfSidecar({ file, sidecar }: StoredFile, folder: string): ModelTarget {
  const { id, kind, bytes, sha256, licence } = sidecar;
  const place = { folder: path.join(folder, path.dirname(file)), fileName: path.basename(file) };
  return { id, kind, ...place, bytes, sha256, licence, sources: [] };
}

export function unknownModelError(id: string): AanaError {
  const variants = variantsOf(id);
  const [name = ''] = id.toLowerCase().split(':');
  const names = [...catalogue, ...hubModels].map((model) => model.name);
  const near = [...new Set(names)].filter((known) => known.includes(name) || name.includes(known));
  const hint =
    variants.length > 0
      ? `its variants are ${variants.map((entry) => entry.variant).join(', ')}`
      : `${near.length > 0 ? `did you mean ${near.join(', ')}? ` : ''}"aana-host models list" shows the catalogue; ` +
        `owner/repo[/file.gguf] of the hub and paths are accepted too`;
  return fail('ModelNotFound', `there is no model "${id}": ${hint}`, { data: { id } });
}

async function isFile(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() ?? false;
}
