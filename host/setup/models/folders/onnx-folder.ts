import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fail } from '../../../base/core/errors.ts';
import { partNames } from '../../../base/core/model-files/split-file-names.ts';
import { WEIGHT_TYPES, type WeightType } from '../../../base/core/model-files/weight-types.ts';
import { withFileLock } from '../../packages/index.ts';
import { readWeightType } from '../convert/check-model-file.ts';
import { requantize } from '../convert/requantize.ts';
import { ggufToOnnx, ONNX_WEIGHTS, requireConvertible } from '../convert/text-onnx/gguf-to-onnx.ts';
import { requireBytes } from '../make-target.ts';
import { bitsOf, digestOf, REQUANTISED_FOLDER, requantizedBytes, resolved } from '../requantized.ts';
import { inspectStored, type Sidecar, writeSidecar } from '../sidecar.ts';
import type { PullOptions, ResolvedModel } from '../store.ts';

/** Forms of a GGUF model, with the type of the weights that the GGUF file must have. */
const FORMS = { onnx_q8: 'q8_0', onnx_fp16: 'f16' } as const satisfies Readonly<Record<string, WeightType>>;
export type OnnxForm = keyof typeof FORMS;

/** Bytes of the ONNX form for each byte of the GGUF file, whose scales are shorter, and of the files beside it. */
const MADE_BYTES = 1.1;

/**
 * Returns a GGUF model in ONNX form, as Transformers.js wants it: the file of weights of a folder. It is written once
 * and kept under the digest of the source; later calls find it. Throws `ModelFormatError` for a model that cannot be
 * converted.
 */
export async function onnxFolder(
  source: ResolvedModel,
  form: OnnxForm,
  cacheDir: string,
  options: PullOptions,
): Promise<ResolvedModel> {
  if (source.kind !== 'gguf')
    throw fail('ModelFormatError', `${source.id} is no GGUF model of texts, so it has no ONNX form`, {
      data: { file: source.path },
    });
  const digest = source.sha256 ?? (await digestOf(source, options));
  const folder = path.join(cacheDir, REQUANTISED_FOLDER, `${digest.slice(0, 32)}-${form}`);
  const target = path.join(folder, ONNX_WEIGHTS);
  await mkdir(path.dirname(target), { recursive: true });
  const onWait = (): void => options.onProgress?.(0, undefined, 'waiting for another process');
  return withFileLock(
    `${target}.lock`,
    async () => {
      const stored = await inspectStored(target);
      const sidecar = stored.state === 'present' ? stored.sidecar : await write(source, form, digest, folder, options);
      return resolved(target, sidecar);
    },
    { signal: options.signal, onWait },
  );
}

async function write(
  source: ResolvedModel,
  form: OnnxForm,
  digest: string,
  folder: string,
  options: PullOptions,
): Promise<Sidecar> {
  const target = path.join(folder, ONNX_WEIGHTS);
  const id = `${source.id}@${form}`;
  const type = FORMS[form];
  const isOneFile = partNames(source.path).length === 1;
  // llama.cpp may take minutes to write the weights.
  if (isOneFile) await requireConvertible(source.path);
  const fits = isOneFile && (await readWeightType(source.path)) === WEIGHT_TYPES[type].fileType;
  const bytes = fits ? source.bytes : requantizedBytes(source.bytes, await bitsOf(source.path), type);
  await requireBytes(id, folder, (fits ? 1 : 2) * MADE_BYTES * bytes);
  const whole = `${target}.intermediate`;
  const making = `${target}.making`;
  try {
    if (!fits) await requantize(source.path, whole, type, { ...options, bytes });
    const made = await ggufToOnnx(fits ? source.path : whole, folder, making, {
      signal: options.signal,
      label: path.basename(source.path),
      onProgress: (done) => options.onProgress?.(done, undefined, 'converting'),
    });
    const sidecar: Sidecar = {
      id,
      kind: 'onnx',
      bytes: made.bytes,
      sha256: made.sha256,
      source: `${source.id} (sha256 ${digest}) in ONNX form`,
      licence: source.licence,
      verified_at: new Date().toISOString(),
    };
    await writeSidecar(target, sidecar);
    await rename(making, target);
    return sidecar;
  } finally {
    for (const file of [whole, making]) await rm(file, { force: true });
  }
}
