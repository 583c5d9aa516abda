import path from 'node:path';
import { fail } from '../../../base/core/errors.ts';
import { partNames } from '../../../base/core/model-files/split-file-names.ts';
import { WEIGHT_TYPES, type WeightType } from '../../../base/core/model-files/weight-types.ts';
import { readWeightType } from '../convert/check-model-file.ts';
import { requantize } from '../convert/requantize.ts';
import { ggufToOnnx, ONNX_WEIGHTS, requireConvertible } from '../convert/text-onnx/gguf-to-onnx.ts';
import { keptConversion, REQUANTIZED_FOLDER, type WrittenFile } from '../kept-conversion.ts';
import { requireBytes } from '../make-target.ts';
import { bitsOf, digestOf, requantizedBytes } from '../requantized.ts';
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
  const folder = path.join(cacheDir, REQUANTIZED_FOLDER, `${digest.slice(0, 32)}-${form}`);
  const id = `${source.id}@${form}`;
  const write = async (making: string, whole: string): Promise<WrittenFile> => {
    const type = FORMS[form];
    const isOneFile = partNames(source.path).length === 1;
    // llama.cpp may take minutes to write the weights.
    if (isOneFile) await requireConvertible(source.path);
    const fits = isOneFile && (await readWeightType(source.path)) === WEIGHT_TYPES[type].fileType;
    const bytes = fits ? source.bytes : requantizedBytes(source.bytes, await bitsOf(source.path), type);
    await requireBytes(id, folder, (fits ? 1 : 2) * MADE_BYTES * bytes);
    if (!fits) await requantize(source.path, whole, type, { ...options, bytes });
    return ggufToOnnx(fits ? source.path : whole, folder, making, {
      signal: options.signal,
      label: path.basename(source.path),
      onProgress: (done) => options.onProgress?.(done, undefined, 'converting'),
    });
  };
  const made = `${source.id} (sha256 ${digest}) in ONNX form`;
  return keptConversion(
    path.join(folder, ONNX_WEIGHTS),
    { id, kind: 'onnx', source: made, licence: source.licence, write },
    options,
  );
}
