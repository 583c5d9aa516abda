import { chmod, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { AanaError } from '../../base/core/errors.ts';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { partNames } from '../../base/core/model-files/split-file-names.ts';
import type { WeightType } from '../../base/core/model-files/weight-types.ts';
import type { Network } from '../../io/outgoing/index.ts';
import { hashFile, type ReportProgress, withFileLock } from '../packages/index.ts';
import { catalogue } from './catalogue/catalogue.ts';
import { type HubModel, hubModelOf, hubModels } from './sources/hub-models.ts';
import type { ModelKind } from './catalogue/types.ts';
import { checkModel } from './convert/check-model-file.ts';
import { convertedFolder } from './folders/converted-folder.ts';
import { onnxFolder, type OnnxForm } from './folders/onnx-folder.ts';
import { whisperFolder } from './folders/whisper-folder.ts';
import { importIdOf, importInto, type ImportOptions } from './import-model.ts';
import { makeTarget, requireBytes } from './make-target.ts';
import { type Lookup, lookUp, storedIn, targetOfSidecar, unknownModelError } from './model-lookup.ts';
import {
  hubFolder,
  importFolder,
  type ModelTarget,
  parseHubReference,
  partTargets,
  targetOfEntry,
  targetOfHubFile,
} from './model-target.ts';
import { REQUANTIZED_FOLDER } from './kept-conversion.ts';
import { requantized } from './requantized.ts';
import { damagedError, inspectModel, inspectStored, neighbourOf, sidecarPath, writeSidecar } from './sidecar.ts';
import { describeSource } from './sources/describe-source.ts';
import { bestGguf, bestProjector, ggufModels } from './sources/gguf-choice.ts';
import { Hub } from './sources/hub.ts';
import { bytesBeside, bytesIn, leftoversOf } from './stored-files.ts';

export interface ModelStoreOptions {
  readonly cacheDir: string;
  readonly log: Logger;
  /** Token for the Hugging Face hub. */
  readonly hfToken?: string | undefined;
  /** Address of the hub or of a mirror; default `https://huggingface.co`. */
  readonly hfEndpoint?: string | undefined;
  /** Proxies and certificate authorities. Default: no proxy, and the authorities of Node. */
  readonly network?: Network | undefined;
  /** If true, nothing is fetched, and a missing file is an error. */
  readonly offline?: boolean | undefined;
}

/** A model that is ready to be loaded. */
export interface ResolvedModel {
  readonly id: string;
  readonly kind: ModelKind;
  /**
   * The file, or the first part of a split model. {@link ModelStore.resolve} also gives a folder that can be converted.
   */
  readonly path: string;
  /** Length of all files of the model. */
  readonly bytes: number;
  /**
   * Digest of the file; of a split model, the digest of the digests of its parts. Missing for a file outside the store,
   * because hashing it would take longer than loading it.
   */
  readonly sha256: string | undefined;
  readonly licence: string;
  /** Description of where the file came from. */
  readonly source: string;
}

/** One file of the catalogue, or another file in the store. */
export interface CatalogueRow {
  readonly id: string;
  readonly kind: ModelKind;
  /** Whether the name without a variant means this file. */
  readonly isDefault: boolean;
  readonly bytes: number | undefined;
  readonly licence: string;
  readonly state: 'present' | 'absent' | 'damaged';
  readonly path: string;
  readonly sources: readonly string[];
  /** What it is for, if it is a model of the hub with a name of its own that is not on this machine. */
  readonly use?: HubModel['use'] | undefined;
}

export interface PullOptions {
  readonly signal?: AbortSignal | undefined;
  /** Type of the weights of a GGUF model. If the file has another type, the model is written once with this type. */
  readonly weightType?: WeightType | undefined;
  /** For a GGUF model of texts in ONNX form: its type of weights. It is written once. */
  readonly form?: OnnxForm | undefined;
  /** Type of the weights of a Whisper model that is converted from a folder: `f16`, `q8_0` (the default) or `q5_1`. */
  readonly whisperType?: string | undefined;
  /**
   * Whether the projector of the model is pulled in its place: the GGUF file with `mmproj` in its name that is in the
   * same repository of the hub, or beside the file.
   */
  readonly projector?: boolean | undefined;
  /** Called with the bytes done, the total and the name of the current stage. */
  readonly onProgress?: ReportProgress | undefined;
}

/**
 * The models on this machine: `models/<name>/<file>` and `tools/<name>/<file>` in the cache folder. Each has a
 * `<file>.json` that records what was verified. Several processes may use one folder.
 */
export class ModelStore {
  readonly #options: ModelStoreOptions;
  readonly #hub: Hub;
  #removals = 0;

  constructor(options: ModelStoreOptions) {
    this.#options = options;
    this.#hub = new Hub({ endpoint: options.hfEndpoint, token: options.hfToken, network: options.network });
  }

  /** Returns the catalogue in its order, then the models of the hub that it names, then the other stored files. */
  async list(): Promise<CatalogueRow[]> {
    const rows: CatalogueRow[] = [];
    for (const entry of catalogue) rows.push(await this.#row(targetOfEntry(entry), entry.isDefault));
    for (const model of hubModels)
      if ((await lookUp(model.name, this.#options.cacheDir)).state === 'repo') rows.push(this.#hubRow(model));
    for (const folder of await this.#otherFolders()) {
      for (const stored of await storedIn(path.join(this.#options.cacheDir, folder)))
        rows.push(await this.#row(targetOfSidecar(stored, folder), true));
    }
    return rows;
  }

  /**
   * Returns the model if it is on this machine; fetches nothing. Throws `ModelDamaged` when the size of the file
   * differs from the verified size, and `ModelFormatError` when a path names a truncated file or a file that is not a
   * model.
   */
  async resolve(id: string): Promise<ResolvedModel | undefined> {
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path') return resolvePath(id, found.file);
    return found.state === 'target' ? this.#resolveTarget(found.target) : undefined;
  }

  /**
   * Returns the model. If it is not on this machine, fetches and verifies it first. Throws `DownloadFailed`,
   * `InsufficientResources`, `ModelExists` or `ModelNotFound`. A folder with a Whisper model of another program is
   * converted once.
   */
  async pull(id: string, options: PullOptions = {}): Promise<ResolvedModel> {
    options.signal?.throwIfAborted();
    if (options.projector) {
      const { projector: _, ...rest } = options;
      return this.pull(await this.#projectorOf(id, rest), rest);
    }
    if (options.weightType !== undefined) {
      const { weightType, ...rest } = options;
      return requantized(await this.pull(id, rest), weightType, this.#options.cacheDir, rest);
    }
    if (options.form !== undefined) {
      const { form, ...rest } = options;
      return onnxFolder(await this.pull(id, rest), form, this.#options.cacheDir, rest);
    }
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path' && (await isFolder(found.file)))
      return convertedFolder(found.file, this.#options.cacheDir, options);
    const present = await this.resolve(id);
    if (present) return present;
    const { target, files } = await this.#targetToPull(id, options.signal);
    const file = this.#fileOf(target);
    return this.#locked(file, options, async () => {
      const meanwhile = (await this.#resolveTarget(target)) ?? (await this.#adopt(target));
      if (meanwhile) return meanwhile;
      await this.#pullFiles(files, options);
      const resolved = await this.#resolveTarget(target);
      if (!resolved)
        throw fail('ModelDamaged', `${target.id} vanished from ${file} after it was pulled`, {
          data: { id: target.id, file },
        });
      return resolved;
    });
  }

  /**
   * Returns the bytes that a pull of the model fetches: 0 if it is on this machine, undefined if its source does not
   * tell. Throws `ModelNotFound` and `DownloadFailed`.
   */
  async bytesToPull(id: string, signal?: AbortSignal): Promise<number | undefined> {
    if (await this.resolve(id)) return 0;
    const { target } = await this.#targetToPull(id, signal);
    const [source] = target.sources;
    if (target.bytes !== undefined || source?.from !== 'hub') return target.bytes;
    const { repo, file } = source;
    const { bytesByFile } = await this.#hub.describe(repo, signal);
    if (!bytesByFile.has(file))
      throw fail('ModelNotFound', `the hub's repository ${repo} has no file ${file}`, { data: { id } });
    const sizes = partNames(file).map((part) => bytesByFile.get(part));
    return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  }

  /** Throws `ModelNotFound` for a model that is not on this machine and that no pull can get: its name is unknown. */
  async requireKnown(id: string): Promise<void> {
    await this.#known(id);
  }

  /** Returns the id or path of the projector of a model. */
  async #projectorOf(id: string, { signal }: PullOptions): Promise<string> {
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path') {
      const folder = path.dirname(found.file);
      const chosen = bestProjector(await readdir(folder).catch(() => []));
      if (chosen === undefined) throw noProjector(id, `${folder} has no GGUF file with mmproj in its name`);
      return path.join(folder, chosen);
    }
    const named = found.state === 'target' ? parseHubReference(found.target.id) : undefined;
    const repo = found.state === 'repo' ? found.repo : named?.repo;
    if (repo === undefined) throw noProjector(id, 'only repositories of the hub and folders are searched');
    const stored = await storedIn(path.join(this.#options.cacheDir, hubFolder(repo)));
    const present = bestProjector(stored.map(({ file }) => file));
    const sidecar = stored.find(({ file }) => file === present)?.sidecar;
    if (sidecar) return sidecar.id;
    if (this.#options.offline) throw noProjector(id, 'it is not on this machine and downloads are switched off');
    const { bytesByFile } = await this.#hub.describe(repo, signal);
    const chosen = bestProjector([...bytesByFile.keys()]);
    if (chosen === undefined)
      throw noProjector(id, `the hub's repository ${repo} has no GGUF file with mmproj in its name`);
    return `${repo}/${chosen}`;
  }

  /** Pulls the files of a model that are not on this machine. */
  async #pullFiles(files: readonly ModelTarget[], options: PullOptions): Promise<void> {
    const missing: ModelTarget[] = [];
    for (const file of files) if ((await inspectStored(this.#fileOf(file))).state !== 'present') missing.push(file);
    const [first] = missing;
    if (!first) return;
    const sizes = missing.map(({ bytes }) => bytes);
    const total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size = 0) => sum + size, 0);
    if (missing.length > 1) await requireBytes(first.id, path.dirname(this.#fileOf(first)), total);
    let before = 0;
    for (const [index, file] of missing.entries()) {
      const start = before;
      const part = missing.length > 1 ? `, file ${index + 1} of ${missing.length}` : '';
      await this.#pullFile(file, {
        ...options,
        onProgress: (bytes, ofFile, stage) =>
          options.onProgress?.(start + bytes, missing.length > 1 ? total : ofFile, stage && `${stage}${part}`),
      });
      before += file.bytes ?? 0;
    }
  }

  async #pullFile(target: ModelTarget, options: PullOptions): Promise<void> {
    const file = this.#fileOf(target);
    const other = await neighbourOf(file);
    if (other)
      throw fail(
        'ModelExists',
        `${target.id} cannot lie beside ${other.id}, because one of them has the name of the record of the other; ` +
          `run "aana-host models rm ${other.id}" first`,
        { data: { id: other.id } },
      );
    const output = `${file}.verified`;
    const { cacheDir, network, log } = this.#options;
    try {
      const made = await makeTarget(target, output, { ...options, cacheDir, hub: this.#hub, network, log });
      if (target.executable) await chmod(output, 0o755);
      await this.#record(target, made);
      await rename(output, file);
      log.info('model pulled', { model: target.id, file: target.fileName, bytes: made.bytes, source: made.source });
    } finally {
      await rm(output, { force: true });
    }
  }

  /**
   * Copies a GGUF or ggml file into the store, or converts a Whisper folder of CTranslate2 or Transformers, or Silero's
   * ONNX file. Throws `ModelExists` when the id is taken and `ModelFormatError` for any other file.
   */
  async import(source: string, options: ImportOptions = {}): Promise<ResolvedModel> {
    const id = importIdOf(source, options.id);
    const folder = path.join(this.#options.cacheDir, importFolder(id));
    await this.#locked(folder, options, async () => {
      if ((await storedIn(folder)).length > 0) {
        throw fail(
          'ModelExists',
          `"${id}" was imported before; run "aana-host models rm ${id}" first, or choose another id`,
          { data: { id } },
        );
      }
      try {
        await importInto(folder, id, source, options);
      } catch (error) {
        await rmdir(folder).catch(() => {}); // a folder that is not empty stays
        throw error;
      }
    });
    const resolved = await this.resolve(id);
    if (!resolved) throw unknownModelError(id);
    return resolved;
  }

  /** Number of models that this process has removed. */
  get removals(): number {
    return this.#removals;
  }

  /**
   * Removes the file of a model and the files of its unfinished pulls. Returns the number of bytes freed. Throws
   * `ModelNotFound`.
   */
  async remove(id: string): Promise<number> {
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path')
      throw fail('InvalidInput', `${found.file} is not in the store and is not removed; delete the file yourself`);
    if (found.state === 'unknown') throw unknownModelError(id);
    if (found.state === 'repo') throw notHereError(id);
    const file = this.#fileOf(found.target);
    const bytes = await this.#locked(file, {}, async () => {
      let freed = 0;
      // The first part goes first, because a split model counts as present while its first part is.
      for (const name of partNames(path.basename(file))) {
        const part = path.join(path.dirname(file), name);
        for (const leftover of await leftoversOf(part)) {
          freed += await bytesIn(leftover);
          await rm(leftover, { recursive: true, force: true });
        }
        await rm(sidecarPath(part), { force: true });
      }
      return freed;
    });
    this.#removals += 1;
    await this.#removeEmpty(found.target.folder);
    if (bytes === 0) throw notHereError(id);
    return bytes;
  }

  /** Removes a folder without files, and then those above it. */
  async #removeEmpty(folder: string): Promise<void> {
    try {
      for (let at = folder; at !== '.'; at = path.dirname(at)) await rmdir(path.join(this.#options.cacheDir, at));
    } catch {
      // it has other files
    }
  }

  /**
   * Returns the id under which {@link list} has a model, here or not. Throws `ModelNotFound` for an unknown model and
   * for a tool, and `InvalidInput` for the path of a file outside of the store.
   */
  async idOf(id: string): Promise<string> {
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path') throw fail('InvalidInput', `${id} is the path of a file, not the id of a model`);
    if (found.state === 'repo') return hubModelOf(found.repo)?.name ?? found.repo;
    if (found.state === 'unknown') throw unknownModelError(id);
    const { target } = found;
    if (target.kind === 'tool' || target.kind === 'sample')
      throw fail('ModelNotFound', `${id} is a ${target.kind} of the host, not a model`, {
        data: { id },
      });
    return target.id;
  }

  /** Returns the path of a tool or sample (`ffmpeg`, `speech-sample`) if it is on this machine. */
  async resolveTool(name: string): Promise<string | undefined> {
    return (await this.resolve(name))?.path;
  }

  /** Returns the path of a tool or sample. Fetches it first if it is not on this machine. */
  async pullTool(name: string, options: PullOptions = {}): Promise<string> {
    if (name === 'ffmpeg' && !catalogue.some((entry) => entry.name === name)) {
      const message =
        `the catalogue has no ffmpeg for ${process.platform}-${process.arch}; install it with the ` +
        `system's package manager`;
      throw fail('ModelNotFound', message, { data: { id: name } });
    }
    return (await this.pull(name, options)).path;
  }

  async #resolveTarget(target: ModelTarget): Promise<ResolvedModel | undefined> {
    const file = this.#fileOf(target);
    const stored = await inspectModel(file);
    if (stored.state === 'damaged') throw damagedError(target.id, file, stored.reason);
    if (stored.state === 'absent') return undefined;
    const { kind, bytes, sha256, licence, source } = stored.sidecar;
    return { id: target.id, kind, path: file, bytes, sha256, licence, source };
  }

  /** Accepts a file that a person put there if its digest is the pinned one. */
  async #adopt(target: ModelTarget): Promise<ResolvedModel | undefined> {
    const file = this.#fileOf(target);
    const size = (await stat(file).catch(() => undefined))?.size;
    if (size === undefined) return undefined;
    const sha256 = await hashFile(file, 'sha256', 'hex');
    const isPinned =
      target.sha256 !== undefined
        ? sha256 === target.sha256
        : target.sha1 !== undefined && (await hashFile(file, 'sha1', 'hex')) === target.sha1;
    if (!isPinned) return undefined;
    await this.#record(target, { bytes: size, sha256, source: 'found in the cache' });
    return this.#resolveTarget(target);
  }

  async #record(target: ModelTarget, made: { bytes: number; sha256: string; source: string }): Promise<void> {
    const { id, kind, licence } = target;
    const { bytes, sha256, source } = made;
    await writeSidecar(this.#fileOf(target), {
      id,
      kind,
      bytes,
      sha256,
      source,
      licence,
      verified_at: new Date().toISOString(),
    });
  }

  /** Returns what a pull gets for an id that names no file on this machine. */
  async #known(id: string): Promise<Exclude<Lookup, { state: 'path' | 'unknown' }>> {
    const found = await lookUp(id, this.#options.cacheDir);
    if (found.state === 'path') throw fail('ModelNotFound', `there is no model file ${found.file}`, { data: { id } });
    if (found.state === 'unknown') throw unknownModelError(id);
    return found;
  }

  /** Returns the target of an id, and a target for each of its files in the order in which they are written. */
  async #targetToPull(id: string, signal: AbortSignal | undefined): Promise<TargetToPull> {
    const found = await this.#known(id);
    if (this.#options.offline) {
      throw fail('DownloadFailed', `${id} is not on this machine and downloads are switched off`, {
        data: { url: id },
      });
    }
    if (found.state === 'repo') {
      const { bytesByFile, licence } = await this.#hub.describe(found.repo, signal);
      const { whole, missing } = ggufModels([...bytesByFile.keys()]);
      const chosen = bestGguf(whole);
      if (chosen === undefined) throw noModelInRepo(id, found.repo, missing);
      const target = targetOfHubFile(found.repo, chosen, licence);
      return { target, files: partTargets(target, bytesByFile) ?? [target] };
    }
    const { target } = found;
    const [source] = target.sources;
    if (partNames(target.fileName).length === 1 || source?.from !== 'hub') return { target, files: [target] };
    const { bytesByFile } = await this.#hub.describe(source.repo, signal);
    const missing = partNames(source.file).filter((file) => !bytesByFile.has(file));
    if (missing.length > 0) throw noModelInRepo(id, source.repo, missing);
    return { target, files: partTargets(target, bytesByFile) ?? [target] };
  }

  async #row(target: ModelTarget, isDefault: boolean): Promise<CatalogueRow> {
    const file = this.#fileOf(target);
    const stored = await inspectModel(file);
    const { state } = stored;
    const { id, kind, licence } = target;
    const ofFile = stored.state === 'present' ? stored.sidecar.bytes : target.bytes;
    const bytes = ofFile === undefined ? undefined : ofFile + (await bytesBeside(target, file, state === 'present'));
    return { id, kind, isDefault, bytes, licence, state, path: file, sources: target.sources.map(describeSource) };
  }

  #hubRow({ name, repo, use }: HubModel): CatalogueRow {
    const folder = path.join(this.#options.cacheDir, hubFolder(repo));
    const source = `hub:${repo}`;
    const licence = `as given at ${source}`;
    return {
      ...{ id: name, kind: 'gguf', isDefault: true, bytes: undefined, licence, state: 'absent' },
      ...{ path: folder, sources: [source], use },
    };
  }

  /** Returns the folders of models from the hub and of imported models. */
  async #otherFolders(): Promise<string[]> {
    const below = async (folder: string): Promise<string[]> => {
      const entries = await readdir(path.join(this.#options.cacheDir, folder), { withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(folder, entry.name));
    };
    const owners = await below(path.join('models', 'hub'));
    return [
      ...(await Promise.all(owners.map(below))).flat(),
      ...(await below(path.join('models', 'imported'))),
      ...(await below(REQUANTIZED_FOLDER)),
    ];
  }

  #fileOf(target: ModelTarget): string {
    return path.join(this.#options.cacheDir, target.folder, target.fileName);
  }

  #locked<T>(file: string, options: PullOptions, fn: () => Promise<T>): Promise<T> {
    const onWait = (): void => options.onProgress?.(0, undefined, 'waiting for another process');
    return withFileLock(`${file}.lock`, fn, { signal: options.signal, onWait });
  }
}

async function isFolder(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isDirectory() ?? false;
}

async function resolvePath(id: string, file: string): Promise<ResolvedModel | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) {
    const { bytes } = await whisperFolder(file);
    return { id, kind: 'whisper', path: file, bytes, sha256: undefined, licence: 'not stated', source: file };
  }
  if (!found && partNames(path.basename(file)).length === 1) return undefined;
  const { kind, files, bytes } = await checkModel(file);
  return { id, kind, path: files[0], bytes, sha256: undefined, licence: 'not stated', source: file };
}

const noProjector = (id: string, why: string): AanaError =>
  fail('ModelNotFound', `no projector of ${id} was found: ${why}; set mmproj to its file`, { data: { id } });

const notHereError = (id: string): AanaError => fail('ModelNotFound', `${id} is not on this machine`, { data: { id } });

interface TargetToPull {
  readonly target: ModelTarget;
  readonly files: readonly ModelTarget[];
}

function noModelInRepo(id: string, repo: string, missing: readonly string[]): AanaError {
  const why = missing.length > 0 ? `no whole GGUF model: it lacks ${missing.slice(0, 5).join(', ')}` : 'no GGUF file';
  return fail('ModelNotFound', `the hub's repository ${repo} has ${why}`, { data: { id } });
}
