import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseSplitName } from '../../base/core/model-files/split-file-names.ts';
import { WEIGHT_TYPES, type WeightType } from '../../base/core/model-files/weight-types.ts';
import { hashFile } from '../packages/index.ts';
import { checkModel, readWeightType } from './convert/check-model-file.ts';
import { requantize } from './convert/requantize.ts';
import { keptConversion, REQUANTIZED_FOLDER, type WrittenFile } from './kept-conversion.ts';
import { requireBytes } from './make-target.ts';
import type { PullOptions, ResolvedModel } from './store.ts';

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
  const folder = path.join(cacheDir, REQUANTIZED_FOLDER, `${digest.slice(0, 32)}-${type}`);
  const name = path.basename(source.path);
  const target = path.join(folder, `${parseSplitName(name)?.base ?? name.replace(/\.gguf$/i, '')}@${type}.gguf`);
  const id = requantizedId(source.id, type);
  const write = async (making: string): Promise<WrittenFile> => {
    const bytes = requantizedBytes(source.bytes, await bitsOf(source.path), type);
    await requireBytes(id, folder, bytes);
    await requantize(source.path, making, type, { ...options, bytes });
    return { bytes: (await stat(making)).size, sha256: await hashFile(making, 'sha256', 'hex', options.signal) };
  };
  const made = `${source.id} (sha256 ${digest}) with ${type} weights`;
  return keptConversion(target, { id, kind: 'gguf', source: made, licence: source.licence, write }, options);
}

/** Returns the folders of the models that this machine has written, relative to the cache. */
export async function requantizedFolders(cacheDir: string): Promise<string[]> {
  const names = await readdir(path.join(cacheDir, REQUANTIZED_FOLDER)).catch(() => []);
  return names.map((name) => path.join(REQUANTIZED_FOLDER, name));
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
