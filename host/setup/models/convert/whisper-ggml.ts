// Writes whisper.cpp's 16-bit files, from the tensors of any checkpoint.
import { formatError } from './formats/format-error.ts';
import { GGML_MAGIC } from './formats/ggml-file.ts';
import { floatOfHalf, halfOfFloat } from './formats/half.ts';
import { int32, MadeFile, type MadeFileResult, type MakeOptions, SLICE_BYTES } from './formats/made-file.ts';
import type { PartedFile } from './formats/parted-file.ts';
import { melFilters, SPECTRUM_BINS } from './mel-filters.ts';

export interface WhisperShape {
  readonly vocabularySize: number;
  readonly audioContext: number;
  readonly audioState: number;
  readonly audioHeads: number;
  readonly audioLayers: number;
  readonly textContext: number;
  readonly textState: number;
  readonly textHeads: number;
  readonly textLayers: number;
  readonly melBands: number;
}

/** The types of the floats of checkpoints. */
export type FloatType = 'float16' | 'float32' | 'bfloat16';

/** A tensor of the output, with the place of its values. */
export interface WhisperTensor {
  readonly name: string;
  /** The fastest axis comes last. */
  readonly shape: readonly number[];
  readonly type: 'f32' | 'f16';
  readonly file: PartedFile;
  readonly offset: number;
  readonly bytes: number;
  readonly from: FloatType;
}

const FILE_TYPE_F16 = 1;
/** Files with more or longer dimensions than any Whisper model are damaged. */
const MOST = 1_000_000;

/**
 * Writes a model. The tensors have the order of the published files. Throws `ModelFormatError`, and leaves no file, for
 * dimensions that no model has.
 */
export async function writeWhisperGgml(
  shape: WhisperShape,
  vocabulary: readonly Buffer[],
  tensors: readonly WhisperTensor[],
  label: string,
  target: string,
  options: MakeOptions,
): Promise<MadeFileResult> {
  for (const [name, value] of Object.entries(shape))
    if (!Number.isInteger(value) || value < 1 || value > MOST) throw formatError(label, `${name} is ${value}`);
  const { audioContext, audioState, audioHeads, audioLayers, textContext, textState, textHeads, textLayers, melBands } =
    shape;
  const mel = melFilters(melBands);
  await using out = await MadeFile.create(target, options);
  await out.write(
    int32(GGML_MAGIC, shape.vocabularySize, audioContext, audioState, audioHeads, audioLayers),
    int32(textContext, textState, textHeads, textLayers, melBands, FILE_TYPE_F16),
  );
  await out.write(int32(melBands, SPECTRUM_BINS), Buffer.from(mel.buffer));
  await out.write(int32(vocabulary.length), ...vocabulary.flatMap((token) => [int32(token.length), token]));
  for (const tensor of tensors) await writeTensor(out, tensor);
  return await out.finish();
}

async function writeTensor(
  out: MadeFile,
  { name, shape, type, file, offset, bytes, from }: WhisperTensor,
): Promise<void> {
  const text = Buffer.from(name);
  await out.write(int32(shape.length, text.length, type === 'f32' ? 0 : 1, ...shape.toReversed()), text);
  for (let at = 0; at < bytes; at += SLICE_BYTES) {
    const slice = await file.read(offset + at, Math.min(SLICE_BYTES, bytes - at));
    await out.write(asType(slice, from, type));
  }
}

function asType(data: Buffer, from: FloatType, to: 'f16' | 'f32'): Buffer {
  if ((from === 'float16' && to === 'f16') || (from === 'float32' && to === 'f32')) return data;
  const count = data.length / (from === 'float32' ? 4 : 2);
  const out = Buffer.allocUnsafe(count * (to === 'f16' ? 2 : 4));
  for (let index = 0; index < count; index += 1) {
    const value = from === 'float32' ? data.readFloatLE(4 * index) : widened(data.readUInt16LE(2 * index), from);
    if (to === 'f32') out.writeFloatLE(value, 4 * index);
    else out.writeUInt16LE(halfOfFloat(value), 2 * index);
  }
  return out;
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

function widened(bits: number, from: 'float16' | 'bfloat16'): number {
  if (from === 'float16') return floatOfHalf[bits] ?? 0;
  scratchBits[0] = bits << 16;
  return scratch[0] ?? 0;
}
