import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { formatError } from './formats/format-error.ts';
import { type Ct2Model, type Ct2Variable, readCtranslate2 } from './formats/ctranslate2.ts';
import { GGML_MAGIC } from './formats/ggml-file.ts';
import { floatOfHalf, halfOfFloat } from './formats/half.ts';
import { int32, MadeFile, type MadeFileResult, type MakeOptions, SLICE_BYTES } from './formats/made-file.ts';
import { melFilters, SPECTRUM_BINS } from './mel-filters.ts';
import { PartedFile } from './formats/parted-file.ts';
import { baseVocabulary } from './vocabulary.ts';
import { type PlannedTensor, planWhisperTensors, readWhisperShape } from './whisper-plan.ts';

export interface Ctranslate2Files {
  /** `model.bin`, or its parts in order. */
  readonly model: readonly string[];
  readonly tokenizer: string;
}

const FILE_TYPE_F16 = 1;

/**
 * Converts a CTranslate2 Whisper model (16 or 32-bit floats) to whisper.cpp's 16-bit ggml file. The bytes equal those
 * that whisper.cpp's converter makes from OpenAI's checkpoints. Throws `ModelFormatError` and leaves no file for a
 * truncated, foreign or 8-bit model.
 */
export async function convertCtranslate2(
  source: Ctranslate2Files,
  target: string,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  await using file = await PartedFile.open(source.model);
  const model = await readCtranslate2(file);
  const shape = await readWhisperShape(model);
  const vocabulary = baseVocabulary(
    await readJson(source.tokenizer),
    shape.vocabularySize,
    path.basename(source.tokenizer),
  );
  const mel = melFilters(shape.melBands);

  await using out = await MadeFile.create(target, options);
  const { audioContext, audioState, audioHeads, audioLayers, textContext, textState, textHeads, textLayers, melBands } =
    shape;
  await out.write(
    int32(GGML_MAGIC, shape.vocabularySize, audioContext, audioState, audioHeads, audioLayers),
    int32(textContext, textState, textHeads, textLayers, melBands, FILE_TYPE_F16),
  );
  await out.write(int32(melBands, SPECTRUM_BINS), Buffer.from(mel.buffer));
  await out.write(int32(vocabulary.length), ...vocabulary.flatMap((token) => [int32(token.length), token]));
  for (const tensor of planWhisperTensors(shape)) await writeTensor(out, model, tensor);
  return await out.finish();
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw formatError(path.basename(file), 'it is not JSON', error);
    throw formatError(
      path.basename(file),
      'it cannot be read; a CTranslate2 model needs its tokenizer.json beside it',
      error,
    );
  }
}

async function writeTensor(out: MadeFile, model: Ct2Model, tensor: PlannedTensor): Promise<void> {
  const variable = model.variableByName.get(tensor.from);
  if (!variable) throw formatError(model.file.label, `the model has no variable ${tensor.from}`);
  if (variable.type !== 'float16' && variable.type !== 'float32') {
    throw formatError(
      model.file.label,
      `its weights are ${variable.type}; only float16 and float32 models can be converted`,
    );
  }
  const { first, end, rowBytes } = rowsOf(model, variable, tensor);
  const shape = tensor.shape ?? [end - first, ...variable.shape.slice(1)];
  const name = Buffer.from(tensor.name);
  await out.write(int32(shape.length, name.length, tensor.type === 'f32' ? 0 : 1, ...shape.toReversed()), name);
  const begin = variable.offset + first * rowBytes;
  const bytes = (end - first) * rowBytes;
  for (let at = 0; at < bytes; at += SLICE_BYTES) {
    const slice = await model.file.read(begin + at, Math.min(SLICE_BYTES, bytes - at));
    await out.write(asType(slice, variable.type, tensor.type));
  }
}

function rowsOf(model: Ct2Model, variable: Ct2Variable, tensor: PlannedTensor) {
  const [rows = 0] = variable.shape;
  const [first, end] = tensor.rows ?? [0, rows];
  if (rows === 0 || end > rows)
    throw formatError(model.file.label, `${variable.name} has ${rows} rows, expected at least ${end}`);
  return { first, end, rowBytes: variable.bytes / rows };
}

function asType(data: Buffer, from: 'float16' | 'float32', to: 'f16' | 'f32'): Buffer {
  if ((from === 'float16') === (to === 'f16')) return data;
  const count = data.length / (from === 'float16' ? 2 : 4);
  const out = Buffer.allocUnsafe(count * (to === 'f16' ? 2 : 4));
  for (let index = 0; index < count; index += 1) {
    if (to === 'f32') out.writeFloatLE(floatOfHalf[data.readUInt16LE(2 * index)] ?? 0, 4 * index);
    else out.writeUInt16LE(halfOfFloat(data.readFloatLE(4 * index)), 2 * index);
  }
  return out;
}
