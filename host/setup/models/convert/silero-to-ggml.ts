import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { formatError } from './formats/format-error.ts';
import { GGML_MAGIC } from './formats/ggml-file.ts';
import { halfOfFloat } from './formats/half.ts';
import { int32, MadeFile, type MadeFileResult, type MakeOptions } from './formats/made-file.ts';
import { type OnnxTensor, readOnnxTensors } from './formats/onnx-tensors.ts';

const MODEL_TYPE = Buffer.from('silero-16k');
/** Samples of a window, samples of context before it, number of encoder layers. */
const WINDOW = [512, 64, 4];
/** Input channels, output channels and kernel size of each encoder layer. */
const ENCODER = [129, 128, 3, 128, 64, 3, 64, 64, 3, 64, 128, 3];
/** Input and hidden size of the recurrent layer, then input and output channels of the last convolution. */
const DECODER = [128, 128, 128, 1];
/** The tensors in the file's order. */
const NAMES = [
  ...[0, 1, 2, 3].flatMap((layer) => [`encoder.${layer}.reparam_conv.weight`, `encoder.${layer}.reparam_conv.bias`]),
  'decoder.rnn.weight_ih',
  'decoder.rnn.weight_hh',
  'decoder.rnn.bias_ih',
  'decoder.rnn.bias_hh',
  'decoder.decoder.2.weight',
  'decoder.decoder.2.bias',
  'stft.forward_basis_buffer',
];

/**
 * Converts Silero's voice-activity model (its 16 kHz branch) to whisper.cpp's ggml file. `version`, such as `6.2.0`, is
 * written into the file.
 */
export async function convertSilero(
  source: string,
  target: string,
  version: string,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const label = path.basename(source);
  const found = readOnnxTensors(await readFile(source), label);
  await using out = await MadeFile.create(target, options);
  await out.write(int32(GGML_MAGIC, MODEL_TYPE.length), MODEL_TYPE, int32(...version.split('.').map(Number)));
  await out.write(int32(...WINDOW, ...ENCODER, ...DECODER));
  for (const name of NAMES) {
    const tensor = found.find(([given]) => given.endsWith(name))?.[1]; // the first match belongs to the 16 kHz branch
    if (!tensor) throw formatError(label, `it is not Silero's model: ${name} is missing`);
    await writeTensor(out, name, tensor);
  }
  return await out.finish();
}

async function writeTensor(out: MadeFile, name: string, { dims, data }: OnnxTensor): Promise<void> {
  const isBasis = name.startsWith('stft');
  const isHalf = isBasis || (name.endsWith('weight') && !name.includes('.rnn.')); // the weights of convolutions
  const kept = isBasis ? dims : dims.filter((length) => length !== 1);
  const fullName = Buffer.from(`_model.${name}`);
  const bytes = Buffer.alloc(data.length * (isHalf ? 2 : 4));
  data.forEach((value, index) =>
    isHalf ? bytes.writeUInt16LE(halfOfFloat(value), 2 * index) : bytes.writeFloatLE(value, 4 * index),
  );
  await out.write(int32(kept.length, fullName.length, isHalf ? 1 : 0, ...kept.toReversed()), fullName, bytes);
}
