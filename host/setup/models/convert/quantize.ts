import type { QuantizedType } from '../catalogue/types.ts';
import { formatError } from './formats/format-error.ts';
import { type GgmlTensor, readGgmlHeader, readGgmlTensors } from './formats/ggml-file.ts';
import { floatOfHalf } from './formats/half.ts';
import { int32, MadeFile, type MadeFileResult, type MakeOptions, SLICE_BYTES } from './formats/made-file.ts';
import { PartedFile } from './formats/parted-file.ts';
import { BLOCK_WEIGHTS, type BlockFormat, q5_1, q8_0 } from './quantize-blocks.ts';

const FORMATS: Readonly<Record<QuantizedType, BlockFormat>> = { q8_0, q5_1 };
const FILE_TYPE_F16 = 1;
const FILE_TYPE_AT = 44;
const TYPE_F16 = 1;
/** Two-dimensional tensors that are not used in matrix products. */
const KEPT = new Set([
  'encoder.conv1.bias',
  'encoder.conv2.bias',
  'encoder.positional_embedding',
  'decoder.positional_embedding',
]);

/** Quantizes the matrices of a 16-bit Whisper ggml file. The bytes equal those that whisper.cpp's tool writes. */
export async function quantizeGgml(
  source: string,
  target: string,
  type: QuantizedType,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const format = FORMATS[type];
  await using file = await PartedFile.open([source]);
  const header = await readGgmlHeader(file);
  if (header.fileType !== FILE_TYPE_F16) throw formatError(file.label, 'only a 16-bit file can be quantized');

  await using out = await MadeFile.create(target, options);
  const start = Buffer.from(await file.read(0, header.end));
  start.writeInt32LE(format.fileType, FILE_TYPE_AT);
  await out.write(start);
  for await (const tensor of readGgmlTensors(file, header.end)) {
    const isKept = tensor.dims.length !== 2 || KEPT.has(tensor.name);
    const name = Buffer.from(tensor.name);
    await out.write(int32(tensor.dims.length, name.length, isKept ? tensor.type : format.type, ...tensor.dims), name);
    if (isKept) await copyTensor(file, tensor, out);
    else await encodeTensor(file, tensor, out, format);
  }
  return await out.finish();
}

async function copyTensor(file: PartedFile, tensor: GgmlTensor, out: MadeFile): Promise<void> {
  for (let at = 0; at < tensor.bytes; at += SLICE_BYTES) {
    await out.write(await file.read(tensor.offset + at, Math.min(SLICE_BYTES, tensor.bytes - at)));
  }
}

async function encodeTensor(file: PartedFile, tensor: GgmlTensor, out: MadeFile, format: BlockFormat): Promise<void> {
  const [rowWeights = 0] = tensor.dims;
  if (rowWeights % BLOCK_WEIGHTS !== 0)
    throw formatError(
      file.label,
      `${tensor.name} has rows of ${rowWeights} weights, which is not a multiple of ${BLOCK_WEIGHTS}`,
    );
  for (let at = 0; at < tensor.bytes; at += SLICE_BYTES) {
    const slice = await file.read(tensor.offset + at, Math.min(SLICE_BYTES, tensor.bytes - at));
    const values = tensor.type === TYPE_F16 ? widened(slice) : floats(slice);
    const blocks = values.length / BLOCK_WEIGHTS;
    const encoded = Buffer.alloc(blocks * format.blockBytes);
    for (let block = 0; block < blocks; block += 1)
      format.encode(values, block * BLOCK_WEIGHTS, encoded, block * format.blockBytes);
    await out.write(encoded);
  }
}

function widened(data: Buffer): Float32Array {
  const values = new Float32Array(data.length / 2);
  for (let index = 0; index < values.length; index += 1) values[index] = floatOfHalf[data.readUInt16LE(2 * index)] ?? 0;
  return values;
}

function floats(data: Buffer): Float32Array {
  const values = new Float32Array(data.length / 4);
  for (let index = 0; index < values.length; index += 1) values[index] = data.readFloatLE(4 * index);
  return values;
}
