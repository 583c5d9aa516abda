import path from 'node:path';
import { formatError } from './formats/format-error.ts';
import { type Ct2Model, type Ct2Variable, readCtranslate2 } from './formats/ctranslate2.ts';
import { readJsonFile } from './formats/json-file.ts';
import type { MadeFileResult, MakeOptions } from './formats/made-file.ts';
import { PartedFile } from './formats/parted-file.ts';
import { baseVocabulary } from './vocabulary.ts';
import { type WhisperTensor, writeWhisperGgml } from './whisper-ggml.ts';
import { type PlannedTensor, planWhisperTensors, readWhisperShape } from './whisper-plan.ts';

export interface Ctranslate2Files {
  /** `model.bin`, or its parts in order. */
  readonly model: readonly string[];
  readonly tokenizer: string;
}

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
    await readJsonFile(source.tokenizer, 'a CTranslate2 model needs its tokenizer.json beside it'),
    shape.vocabularySize,
    path.basename(source.tokenizer),
  );
  const tensors = planWhisperTensors(shape).map((tensor) => resolved(model, tensor));
  return await writeWhisperGgml(shape, vocabulary, tensors, file.label, target, options);
}

function resolved(model: Ct2Model, tensor: PlannedTensor): WhisperTensor {
  const variable = model.variableByName.get(tensor.from);
  if (!variable) throw formatError(model.file.label, `the model has no variable ${tensor.from}`);
  const { type } = variable;
  if (type !== 'float16' && type !== 'float32' && type !== 'bfloat16') {
    throw formatError(
      model.file.label,
      `its weights are ${type}; only float16, bfloat16 and float32 models can be converted`,
    );
  }
  const { first, end, rowBytes } = rowsOf(model, variable, tensor);
  return {
    name: tensor.name,
    shape: tensor.shape ?? [end - first, ...variable.shape.slice(1)],
    type: tensor.type,
    file: model.file,
    offset: variable.offset + first * rowBytes,
    bytes: (end - first) * rowBytes,
    from: type,
  };
}

function rowsOf(model: Ct2Model, variable: Ct2Variable, tensor: PlannedTensor) {
  const [rows = 0] = variable.shape;
  const [first, end] = tensor.rows ?? [0, rows];
  if (rows === 0 || end > rows)
    throw formatError(model.file.label, `${variable.name} has ${rows} rows, expected at least ${end}`);
  return { first, end, rowBytes: variable.bytes / rows };
}
