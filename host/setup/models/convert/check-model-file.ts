import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GGUF_MAGIC } from '../../../base/core/model-files/gguf.ts';
import { DamagedOnnx, readExternalFiles } from '../../../base/core/model-files/onnx.ts';
import { parseSplitName, partNames } from '../../../base/core/model-files/split-file-names.ts';
import type { ModelKind } from '../catalogue/types.ts';
import { formatError } from './formats/format-error.ts';
import { checkGguf, type GgufPart } from './formats/gguf-file.ts';
import { GGML_MAGIC, readGgmlHeader, readGgmlTensors } from './formats/ggml-file.ts';
import { PartedFile } from './formats/parted-file.ts';

/** The bytes of a voice-activity file from byte 4 on: the length of the model type, then the type. */
const VAD_TYPE = Buffer.from('\u000a\u0000\u0000\u0000silero-16k');

type FileKind = Extract<ModelKind, 'whisper' | 'vad' | 'gguf' | 'onnx'>;

/** A model outside the store, whose files are whole. */
export interface CheckedModel {
  readonly kind: FileKind;
  /** The file, or all parts of a split model in order. */
  readonly files: readonly [first: string, ...others: string[]];
  /** Length of all files. */
  readonly bytes: number;
}

/**
 * Checks the model that `file` belongs to: a file, or all parts of a split model. Throws `ModelFormatError` for a file
 * that is truncated, foreign or missing, and names it. Reads only headers, so it is fast.
 */
export async function checkModel(file: string): Promise<CheckedModel> {
  const names = partNames(path.basename(file));
  const [first, ...others] = names.map((name) => path.join(path.dirname(file), name));
  const files = [first ?? file, ...others] as const;
  let bytes = 0;
  let tensors = 0;
  let allTensors: number | undefined;
  let kind: FileKind = 'gguf';
  for (const [index, each] of files.entries()) {
    const found = await stat(each).catch(() => undefined);
    if (!found?.isFile())
      throw formatError(
        path.basename(file),
        `part ${index + 1} of ${files.length} is missing: there is no file ${each}`,
      );
    bytes += found.size;
    const { part, ...checked } = await readModelFile(each);
    kind = checked.kind;
    checkPart(each, index + 1, files.length, part);
    tensors += part?.tensors ?? 0;
    allTensors ??= part?.allTensors;
  }
  if (files.length > 1 && allTensors !== undefined && tensors !== allTensors)
    throw formatError(
      path.basename(first ?? file),
      `the parts have ${tensors} tensors, but the model has ${allTensors}; the parts are not of one model`,
    );
  return { kind, files, bytes };
}

/** Throws if the place that a file states differs from the place that its name states. */
function checkPart(file: string, number: number, count: number, part: GgufPart | undefined): void {
  const { part: stated = 1, parts = 1 } = part ?? {};
  if (stated === number && parts === count) return;
  const name = path.basename(file);
  if (parseSplitName(name)) {
    const states = parts === 1 ? 'a whole model' : `part ${stated} of ${parts}`;
    throw formatError(name, `its name says part ${number} of ${count}, but its content is ${states}`);
  }
  const digits = (value: number): string => String(value).padStart(5, '0');
  throw formatError(
    name,
    `this is part ${stated} of ${parts} of a split model; name its files ` +
      `<name>-${digits(1)}-of-${digits(parts)}.gguf and so on, in one folder`,
  );
}

/**
 * Returns the kind of the model in the file. Checks that every tensor of its tables lies inside the file. Throws
 * `ModelFormatError` for a truncated or foreign file. Reads only headers, so it is fast.
 */
export async function checkModelFile(file: string): Promise<FileKind> {
  return (await readModelFile(file)).kind;
}

/** Returns the number of the type of most weights of a GGUF file; undefined if the file does not tell. */
export async function readWeightType(file: string): Promise<number | undefined> {
  return (await readModelFile(file)).part?.weightType;
}

async function readModelFile(name: string): Promise<{ readonly kind: FileKind; readonly part?: GgufPart }> {
  await using file = await PartedFile.open([name]);
  if (/\.onnx$/i.test(name)) {
    await readExternalFiles(file).catch((error: unknown) => {
      throw error instanceof DamagedOnnx ? formatError(file.label, error.message) : error;
    });
    return { kind: 'onnx' };
  }
  if (file.bytes < 64) throw formatError(file.label, 'the file is too short to be a model');
  const head = await file.readField(0, 64);
  if (head.toString('latin1', 0, 4) === GGUF_MAGIC) {
    return { kind: 'gguf', part: await checkGguf(file) };
  }
  if (head.readUInt32LE(0) !== GGML_MAGIC)
    throw formatError(file.label, 'this is neither a GGUF nor a ggml file of whisper.cpp');
  if (head.subarray(4, 4 + VAD_TYPE.length).equals(VAD_TYPE)) {
    await drain(readGgmlTensors(file, VAD_TENSORS_AT));
    return { kind: 'vad' };
  }
  await drain(readGgmlTensors(file, (await readGgmlHeader(file)).end));
  return { kind: 'whisper' };
}

/** The tensors begin after magic, type, version (3), window (3), encoder (12) and decoder (4). */
const VAD_TENSORS_AT = 4 + VAD_TYPE.length + 4 * (3 + 3 + 12 + 4);

async function drain(tensors: AsyncIterable<unknown>): Promise<void> {
  for await (const tensor of tensors) void tensor; // the reader checks that the tensor lies inside the file
}
