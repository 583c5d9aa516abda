import { createHash } from 'node:crypto';
import path from 'node:path';
import { fail } from '../../../base/core/errors.ts';
import { hashFile } from '../../packages/index.ts';
import { quantizeGgml } from '../convert/quantize.ts';
import { keptConversion, REQUANTIZED_FOLDER, type WrittenFile } from '../kept-conversion.ts';
import { requireBytes } from '../make-target.ts';
import type { PullOptions, ResolvedModel } from '../store.ts';
import { type WhisperFolder, whisperFolder } from './whisper-folder.ts';

const TYPES = ['f16', 'q8_0', 'q5_1'] as const;
type WhisperType = (typeof TYPES)[number];

/** The most bytes that a 16-bit file has for each byte of its weights. */
const MADE_BYTES = 1.1;

/**
 * Returns the model of a folder in the form of whisper.cpp. It is written once and kept under the digest of the
 * folder's files; later calls find it. Throws `ModelFormatError` for a folder that cannot be converted.
 */
export async function convertedFolder(folder: string, cacheDir: string, options: PullOptions): Promise<ResolvedModel> {
  const type = typeOf(folder, options.whisperType ?? 'q8_0');
  const source = await whisperFolder(folder);
  const digest = await digestOf(source, options);
  const made = path.join(cacheDir, REQUANTIZED_FOLDER, `${digest.slice(0, 32)}-${type}`);
  const target = path.join(made, `${path.basename(folder)}@${type}.bin`);
  const id = `${folder}@${type}`;
  const write = async (making: string, whole: string): Promise<WrittenFile> => {
    const { signal, onProgress } = options;
    await requireBytes(id, made, 2 * MADE_BYTES * source.bytes);
    const progress = (stage: string) => (bytes: number) => onProgress?.(bytes, undefined, stage);
    const f16 = await source.convert(type === 'f16' ? making : whole, { signal, onProgress: progress('converting') });
    if (type === 'f16') return f16;
    return quantizeGgml(whole, making, type, { signal, onProgress: progress('quantizing') });
  };
  const from = `converted from ${path.dirname(source.files[0] ?? '')}`;
  return keptConversion(target, { id, kind: 'whisper', source: from, licence: 'not stated', write }, options);
}

function typeOf(folder: string, given: string): WhisperType {
  const type = TYPES.find((known) => known === given);
  if (type !== undefined) return type;
  throw fail('InvalidInput', `${folder} is converted to weights of the types ${TYPES.join(', ')}, but not to ${given}`);
}

async function digestOf({ files, bytes }: WhisperFolder, { signal, onProgress }: PullOptions): Promise<string> {
  const digest = createHash('sha256');
  for (const file of files) {
    onProgress?.(0, bytes, 'hashing');
    digest.update(`${path.basename(file)}\n${await hashFile(file, 'sha256', 'hex', signal)}\n`);
  }
  return digest.digest('hex');
}
