import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseSplitName } from '../../base/core/model-files/split-file-names.ts';
import { WEIGHT_TYPES, type WeightType } from '../../base/core/model-files/weight-types.ts';
import { hashFile, withFileLock } from '../packages/index.ts';
import { checkModel, readWeightType } from './convert/check-model-file.ts';
import { requantize } from './convert/requantize.ts';
import { requireBytes } from './make-target.ts';
import { inspectStored, type Sidecar, writeSidecar } from './sidecar.ts';
import type { PullOptions, ResolvedModel } from './store.ts';

/** Folder of models whose weights this machine has written with another type. */
export const REQUANTISED_FOLDER: string = path.join('models', 'requantized');

/** Returns the id of a model with another type of weights: `qwen2.5-coder-0.5b-instruct@q8_0`. */
export function requantizedId(id: string, type: WeightType): string {
  return `${id}@${type}`;
}

/**
 * Returns `source` with another type of weights. It is written once and kept under the digest of the source; later
 * calls find it. Returns `source` itself if its weights have the type.
 */
export async function requantized(
  source: ResolvedModel,
  type: WeightType,
  cacheDir: string,
  options: PullOptions,
): Promise<ResolvedModel> {
  if ((await readWeightType(source.path)) === WEIGHT_TYPES[type].fileType) return source;
  const digest = source.sha256 ?? (await digestOf(source, options));
  const folder = path.join(cacheDir, REQUANTISED_FOLDER, `${digest.slice(0, 32)}-${type}`);
  const name = path.basename(source.path);
  const target = path.join(folder, `${parseSplitName(name)?.base ?? name.replace(/\.gguf$/i, '')}@${type}.gguf`);
  await mkdir(folder, { recursive: true });
  const onWait = (): void => options.onProgress?.(0, undefined, 'waiting for another process');
  return withFileLock(
    `${target}.lock`,
    async () => {
      const stored = await inspectStored(target);
      if (stored.state === 'present') return resolved(target, stored.sidecar);
      const bytes = requantizedBytes(source.bytes, await bitsOf(source.path), type);
      await requireBytes(requantizedId(source.id, type), folder, bytes);
      const made = `${target}.making`;
      try {
        await requantize(source.path, made, type, { ...options, bytes });
        const sidecar: Sidecar = {
          id: requantizedId(source.id, type),
          kind: 'gguf',
          bytes: (await stat(made)).size,
          sha256: await hashFile(made, 'sha256', 'hex', options.signal),
          source: `${source.id} (sha256 ${digest}) with ${type} weights`,
          licence: source.licence,
          verified_at: new Date().toISOString(),
        };
        await writeSidecar(target, sidecar);
        await rename(made, target);
        return resolved(target, sidecar);
      } finally {
        await rm(made, { force: true });
      }
    },
    { signal: options.signal, onWait },
  );
}

/** Returns the folders of the models that this machine has written, relative to the cache. */
export async function requantizedFolders(cacheDir: string): Promise<string[]> {
  const names = await readdir(path.join(cacheDir, REQUANTISED_FOLDER)).catch(() => []);
  return names.map((name) => path.join(REQUANTISED_FOLDER, name));
}

/** Returns a model that this machine has written. */
export function resolved(file: string, { id, kind, bytes, sha256, licence, source }: Sidecar): ResolvedModel {
  return { id, kind, path: file, bytes, sha256, licence, source };
}

/** Returns about how many bytes a model has with another type of weights. */
export const requantizedBytes = (bytes: number, bits: number, type: WeightType): number =>
  Math.ceil((bytes * WEIGHT_TYPES[type].bits) / bits);

/** Returns the bits of a weight; 16 for types that this package does not write. */
export async function bitsOf(file: string): Promise<number> {
  const fileType = await readWeightType(file);
  return Object.values(WEIGHT_TYPES).find((type) => type.fileType === fileType)?.bits ?? 16;
}

/** Returns the digest of a model outside the store. */
export async function digestOf(
  { path: file, bytes }: ResolvedModel,
  { signal, onProgress }: PullOptions,
): Promise<string> {
  const { files } = await checkModel(file);
  const digests = createHash('sha256');
  let done = 0;
  for (const each of files) {
    onProgress?.(done, bytes, 'hashing');
    const digest = await hashFile(each, 'sha256', 'hex', signal);
    if (files.length === 1) return digest;
    digests.update(digest);
    done += (await stat(each)).size;
  }
  return digests.digest('hex');
}
