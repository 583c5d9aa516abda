import type { ModelKind } from '../catalogue-types.ts';
import { formatError } from './formats/format-error.ts';
import { checkGguf, GGUF_MAGIC } from './formats/gguf-file.ts';
import { GGML_MAGIC, readGgmlHeader, readGgmlTensors } from './formats/ggml-file.ts';
import { PartedFile } from './formats/parted-file.ts';

/** The bytes of a voice-activity file from byte 4 on: the length of the model type, then the type. */
const VAD_TYPE = Buffer.from('\u000a\u0000\u0000\u0000silero-16k');

/**
 * Returns the kind of the model in the file. Checks that every tensor of its tables lies inside the file. Throws
 * `ModelFormatError` for a truncated or foreign file. Reads only headers, so it is fast.
 */
export async function checkModelFile(path: string): Promise<Extract<ModelKind, 'whisper' | 'vad' | 'gguf'>> {
  await using file = await PartedFile.open([path]);
  if (file.bytes < 64) throw formatError(file.label, 'the file is too short to be a model');
  const head = await file.readField(0, 64);
  if (head.toString('latin1', 0, 4) === GGUF_MAGIC) {
    await checkGguf(file);
    return 'gguf';
  }
  if (head.readUInt32LE(0) !== GGML_MAGIC)
    throw formatError(file.label, 'this is neither a GGUF nor a ggml file of whisper.cpp');
  if (head.subarray(4, 4 + VAD_TYPE.length).equals(VAD_TYPE)) {
    await drain(readGgmlTensors(file, VAD_TENSORS_AT));
    return 'vad';
  }
  await drain(readGgmlTensors(file, (await readGgmlHeader(file)).end));
  return 'whisper';
}

/** The tensors begin after magic, type, version (3), window (3), encoder (12) and decoder (4). */
const VAD_TENSORS_AT = 4 + VAD_TYPE.length + 4 * (3 + 3 + 12 + 4);

async function drain(tensors: AsyncIterable<unknown>): Promise<void> {
  for await (const tensor of tensors) void tensor; // the reader checks that the tensor lies inside the file
}
