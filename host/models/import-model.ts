import { copyFile, constants, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AanaError } from '../core/errors.ts';
import { randomSuffix } from '../core/ids.ts';
import { hashFile, type ReportProgress } from '../packages/index.ts';
import { findEntry } from './catalogue.ts';
import type { ModelKind, QuantisedType } from './catalogue-types.ts';
import { checkModelFile } from './convert/check-model-file.ts';
import { convertCtranslate2 } from './convert/ctranslate2-to-ggml.ts';
import { quantiseGgml } from './convert/quantise.ts';
import { convertSilero } from './convert/silero-to-ggml.ts';
import { isImportId } from './model-target.ts';
import { type Sidecar, writeSidecar } from './sidecar.ts';

export interface ImportOptions {
  /** Default: the name of the file or folder. */
  readonly id?: string | undefined;
  /** Quantise a Whisper model on the way. */
  readonly quantise?: QuantisedType | undefined;
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
      .replace(/\.(gguf|bin|onnx)$/i, '')
      .replace(/^ggml-/, '');
  if (!isImportId(id))
    throw new AanaError(
      'InvalidModelId',
      'invalid-input',
      `"${id}" is not a valid model id: use letters, digits, ".", "_" and "-", and begin with a letter or digit`,
      { data: { id } },
    );
  if (findEntry(id))
    throw new AanaError('ModelExists', 'conflict', `"${id}" is a model of the catalogue; choose another id with --id`, {
      data: { id },
    });
  return id;
}

/** Puts a copy of `source` into `folder`, converted if necessary. The caller holds the lock. */
export async function importInto(folder: string, id: string, source: string, options: ImportOptions): Promise<void> {
  const found = await stat(source).catch(() => undefined);
  if (!found)
    throw new AanaError('ModelNotFound', 'not-found', `there is no file or folder ${source}`, {
      data: { path: source },
    });
  await mkdir(folder, { recursive: true });
  const work = path.join(folder, `.import-${randomSuffix()}`);
  try {
    const made = found.isDirectory() ? await fromFolder(source, work, options) : await fromFile(source, work, options);
    const { size } = await stat(made.file);
    const sidecar: Sidecar = {
      id,
      kind: made.kind,
      bytes: size,
      sha256: await hashFile(made.file, 'sha256', 'hex', options.signal),
      source: path.resolve(source),
      licence: options.licence ?? 'not stated',
      verified_at: new Date().toISOString(),
    };
    const target = path.join(folder, `${id}.${made.kind === 'gguf' ? 'gguf' : 'bin'}`);
    await writeSidecar(target, sidecar);
    await rename(made.file, target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Imported {
  readonly file: string;
  readonly kind: ModelKind;
}

async function fromFolder(source: string, work: string, options: ImportOptions): Promise<Imported> {
  const model = path.join(source, 'model.bin');
  if (!(await stat(model).catch(() => undefined))) {
    throw new AanaError(
      'ModelFormatError',
      'bad-request',
      `${source} has no model.bin: a folder must contain a CTranslate2 model`,
      { data: { path: source } },
    );
  }
  const file = path.join(work, 'f16.bin');
  await convertCtranslate2({ model: [model], tokenizer: path.join(source, 'tokenizer.json') }, file, {
    signal: options.signal,
    onProgress: (bytes) => options.onProgress?.(bytes, undefined, 'converting'),
  });
  return quantised({ file, kind: 'whisper' }, work, options);
}

async function fromFile(source: string, work: string, options: ImportOptions): Promise<Imported> {
  const file = path.join(work, 'copy');
  await mkdir(work, { recursive: true });
  if (/\.onnx$/i.test(source)) {
    await convertSilero(source, file, '6.2.0', { signal: options.signal });
    return { file, kind: 'vad' };
  }
  const kind = await checkModelFile(source);
  options.onProgress?.(0, undefined, 'copying');
  await copyFile(source, file, constants.COPYFILE_FICLONE);
  options.signal?.throwIfAborted();
  return quantised({ file, kind }, work, options);
}

async function quantised(imported: Imported, work: string, options: ImportOptions): Promise<Imported> {
  if (options.quantise === undefined) return imported;
  if (imported.kind !== 'whisper') {
    throw new AanaError(
      'InvalidInput',
      'invalid-input',
      `only Whisper models can be quantised on import, but this is a model of kind ${imported.kind}`,
    );
  }
  const file = path.join(work, 'quantised.bin');
  await quantiseGgml(imported.file, file, options.quantise, {
    signal: options.signal,
    onProgress: (bytes) => options.onProgress?.(bytes, undefined, 'quantising'),
  });
  return { file, kind: 'whisper' };
}
