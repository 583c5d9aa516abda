import path from 'node:path';
import { partNames } from '../../base/core/model-files/split-file-names.ts';
import type { CatalogueEntry } from './catalogue/types.ts';

/** A file that the store has or can get: an entry of the catalogue, a file of the hub, or an imported file. */
export interface ModelTarget extends Pick<
  CatalogueEntry,
  'id' | 'kind' | 'sha256' | 'sha1' | 'licence' | 'executable' | 'sources'
> {
  /** Folder, relative to the cache. */
  readonly folder: string;
  /** The first part of a split model. */
  readonly fileName: string;
  readonly bytes?: number | undefined;
}

/** A repository of the hub, and a file in it if the id names one. */
export interface HubReference {
  readonly repo: string;
  readonly file: string | undefined;
}

export function targetOfEntry(entry: CatalogueEntry): ModelTarget {
  const isTool = entry.kind === 'tool' || entry.kind === 'sample';
  return {
    ...entry,
    id: entry.isDefault ? entry.name : entry.id,
    folder: path.join(isTool ? 'tools' : 'models', entry.name),
  };
}

export function hubFolder(repo: string): string {
  return path.join('models', 'hub', ...repo.split('/'));
}

/** Returns the target of a file of the hub, or of the split model that it is a part of. */
export function targetOfHubFile(repo: string, named: string, licence = `as given at hub:${repo}`): ModelTarget {
  const [file] = partNames(named);
  return {
    id: `${repo}/${file}`,
    kind: /\.gguf$/i.test(file) ? 'gguf' : /\.(onnx(_data)?|json)$/i.test(file) ? 'onnx' : 'whisper',
    folder: path.join(hubFolder(repo), path.posix.dirname(file)),
    fileName: path.posix.basename(file),
    licence,
    sources: [{ from: 'hub', repo, file }],
  };
}

/**
 * Returns the targets of the files of a split model, the first part last; undefined for a model of one file. A split
 * model counts as present when its first part is, so this part is written last.
 */
export function partTargets(
  target: ModelTarget,
  bytesByFile: ReadonlyMap<string, number | undefined>,
): ModelTarget[] | undefined {
  const [first, ...others] = partNames(target.fileName);
  if (others.length === 0) return undefined;
  return [...others, first].map((fileName) => {
    const sources = target.sources.map((source) =>
      source.from === 'hub' ? { ...source, file: path.posix.join(path.posix.dirname(source.file), fileName) } : source,
    );
    const [bytes] = sources.flatMap(
      (source) => (source.from === 'hub' ? bytesByFile.get(source.file) : undefined) ?? [],
    );
    return { ...target, fileName, sources, bytes };
  });
}

/** Parses `owner/repo` or `owner/repo/path/file.gguf`. */
export function parseHubReference(id: string): HubReference | undefined {
  const [owner, name, ...rest] = id.split('/');
  const isName = (part: string | undefined): part is string => part !== undefined && /^[\w-][\w.-]*$/.test(part);
  if (!isName(owner) || !isName(name) || rest.some((part) => !isName(part))) return undefined;
  return { repo: `${owner}/${name}`, file: rest.length > 0 ? rest.join('/') : undefined };
}

/** Returns whether `id` can be the id of an imported model. Such ids are folder names. */
export function isImportId(id: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(id);
}

export function importFolder(id: string): string {
  return path.join('models', 'imported', id);
}

/** Returns whether `id` is written as a path: absolute, or beginning with `.//`, `../../` or `~/`. */
export function isPathId(id: string): boolean {
  return path.isAbsolute(id) || /^(\.\.?|~)[\\/]/.test(id);
}
