import { copyFile, constants, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { hashFile, type ReportProgress } from '../packages/index.ts';
import { findEntry } from './catalogue/catalogue.ts';
import type { ModelKind, QuantizedType } from './catalogue/types.ts';
import { checkModel } from './convert/check-model-file.ts';
import { quantizeGgml } from './convert/quantize.ts';
import { convertSilero } from './convert/silero-to-ggml.ts';
import { whisperFolder } from './folders/whisper-folder.ts';
import { requireBytes } from './make-target.ts';
import { isImportId } from './model-target.ts';
import { type Sidecar, writeSidecar } from './sidecar.ts';

export interface ImportOptions {
  /** Default: the name of the file or folder. */
  readonly id?: string | undefined;
  /** Quantize a Whisper model on the way. */
  readonly quantize?: QuantizedType | undefined;
  readonly licence?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** Returns the id for `source`. Throws `InvalidModelId` for an invalid id and `ModelExists` if the catalogue has it. */
export function importIdOf(source: string, given: string | undefined): string {
  const id =
    given ??
    path
      .basename(path.resolve(source))
      .replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '')
      .replace(/\.(gguf|bin|onnx)$/i, '')
      .replace(/^ggml-/, '');
  if (!isImportId(id))
    throw fail(
      'InvalidModelId',
      `"${id}" is not a valid model id: use letters, digits, ".", "_" and "-", and begin with a letter or digit`,
      { data: { id } },
    );
  if (findEntry(id))
    throw fail('ModelExists', `"${id}" is a model of the catalogue; choose another id with --id`, {
      data: { id },
    });
  return id;
}

/** Puts a copy of `source` into `folder`, converted if necessary. The caller holds the lock. */
export async function importInto(folder: string, id: string, source: string, options: ImportOptions): Promise<void> {
  const found = await stat(source).catch(() => undefined);
  if (!found)
    throw fail('ModelNotFound', `there is no file or folder ${source}`, {
      data: { path: source },
    });
  await mkdir(folder, { recursive: true });
  const work = path.join(folder, `.import-${randomSuffix()}`);
  try {
    const made = found.isDirectory() ? await fromFolder(source, work, options) : await fromFile(source, work, options);
    // The first part comes last, because a split model counts as present when its first part is.
    for (const [index, file] of [...made.files.entries()].toReversed()) {
      const { size } = await stat(file);
      const sidecar: Sidecar = {
        id,
        kind: made.kind,
        bytes: size,
        sha256: await hashFile(file, 'sha256', 'hex', options.signal),
        source: path.resolve(source),
        licence: options.licence ?? 'not stated',
        verified_at: new Date().toISOString(),
      };
      const target = path.join(folder, fileNameOf(id, made.kind, index + 1, made.files.length));
      await writeSidecar(target, sidecar);
      await rename(file, target);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Imported {
  /** The file, or all parts of a split model in order. */
  readonly files: readonly [first: string, ...others: string[]];
  readonly kind: ModelKind;
}

function fileNameOf(id: string, kind: ModelKind, part: number, parts: number): string {
  const digits = (value: number): string => String(value).padStart(5, '0');
  return `${id}${parts > 1 ? `-${digits(part)}-of-${digits(parts)}` : ''}.${kind === 'gguf' ? 'gguf' : 'bin'}`;
}

async function fromFolder(source: string, work: string, options: ImportOptions): Promise<Imported> {
  const { bytes, convert } = await whisperFolder(source);
  const file = path.join(work, 'f16.bin');
  await mkdir(work, { recursive: true });
  await requireBytes(source, work, bytes);
  await convert(file, {
    signal: options.signal,
    onProgress: (done) => options.onProgress?.(done, undefined, 'converting'),
  });
  return quantized({ files: [file], kind: 'whisper' }, work, options);
}

async function fromFile(source: string, work: string, options: ImportOptions): Promise<Imported> {
  const file = path.join(work, 'copy');
  await mkdir(work, { recursive: true });
  if (/\.onnx$/i.test(source)) {
    await convertSilero(source, file, '6.2.0', { signal: options.signal });
    return { files: [file], kind: 'vad' };
  }
  const { kind, files, bytes } = await checkModel(source);
  await requireBytes(source, work, bytes);
  let copied = 0;
  const copy = async (from: string, to: string): Promise<string> => {
    options.onProgress?.(copied, bytes, 'copying');
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    options.signal?.throwIfAborted();
    copied += (await stat(to)).size;
    return to;
  };
  const [first, ...others] = files;
  const copies: [string, ...string[]] = [await copy(first, file)];
  for (const other of others) copies.push(await copy(other, `${file}-${copies.length + 1}`));
  return quantized({ files: copies, kind }, work, options);
}

async function quantized(imported: Imported, work: string, options: ImportOptions): Promise<Imported> {
  if (options.quantize === undefined) return imported;
  if (imported.kind !== 'whisper') {
    throw fail(
      'InvalidInput',
      `only Whisper models can be quantized on import, but this is a model of kind ${imported.kind}`,
    );
  }
  const file = path.join(work, 'quantized.bin');
  await quantizeGgml(imported.files[0], file, options.quantize, {
    signal: options.signal,
    onProgress: (bytes) => options.onProgress?.(bytes, undefined, 'quantizing'),
  });
  return { files: [file], kind: 'whisper' };
}
