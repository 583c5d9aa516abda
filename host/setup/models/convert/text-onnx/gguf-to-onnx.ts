import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { floatOfHalf } from '../formats/half.ts';
import { MadeFile, type MadeFileResult, type MakeOptions, SLICE_BYTES } from '../formats/made-file.ts';
import { PartedFile } from '../formats/parted-file.ts';
import { decoderGraph } from './decoder-graph.ts';
import {
  BLOCK,
  BLOCK_BYTES,
  bytesOf,
  type DecoderPlan,
  type PlannedTensor,
  planDecoder,
  requireDecoder,
  scaleBytes,
} from './decoder-plan.ts';
import { GgufSource } from './gguf-source.ts';
import { endTokens, specialTokens, tokenizerFiles } from './tokenizer-files.ts';

/** Name of the model's file in the folder `onnx`, without its ending. */
export const ONNX_MODEL = 'converted';
/** The file of weights, which is written last. */
export const ONNX_WEIGHTS: string = path.join('onnx', `${ONNX_MODEL}.onnx_data`);
/** The other files of a converted model. */
export const ONNX_FILES: readonly string[] = [
  path.join('onnx', `${ONNX_MODEL}.onnx`),
  ...['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'],
];

const SIGN = 0x80;

/**
 * Throws `ModelFormatError` for a GGUF file that cannot be converted whatever the type of its weights. It reads the
 * header only.
 */
export async function requireConvertible(source: string): Promise<void> {
  await using file = await PartedFile.open([source]);
  const header = await GgufSource.read(file);
  requireDecoder(header);
  tokenizerFiles(header);
}

export interface ConvertOptions extends MakeOptions {
  /** Name of the model in errors. Default: that of the file. */
  readonly label?: string;
}

/**
 * Converts a GGUF file with weights of the type f16 or q8_0 to the files of a repository for Transformers.js:
 * `ONNX_FILES` in `folder`, and the weights, which stay what they are, at `target`, whose place for readers is
 * `ONNX_WEIGHTS`. Throws `ModelFormatError` for a model that cannot be converted, before anything is written.
 */
export async function ggufToOnnx(
  source: string,
  folder: string,
  target: string,
  options: ConvertOptions = {},
): Promise<MadeFileResult> {
  await using file = await PartedFile.open([source]);
  const header = await GgufSource.read(file, options.label);
  const plan = planDecoder(header);
  const { tokenizer, config } = tokenizerFiles(header);
  await mkdir(path.join(folder, 'onnx'), { recursive: true });
  const write = (name: string, content: object): Promise<void> =>
    writeFile(path.join(folder, name), JSON.stringify(content));
  await write('config.json', modelConfig(header, plan));
  await write('generation_config.json', endsOf(header));
  await write('tokenizer.json', tokenizer);
  await write('tokenizer_config.json', config);
  {
    await using graph = await MadeFile.create(path.join(folder, 'onnx', `${ONNX_MODEL}.onnx`));
    await graph.write(...decoderGraph(plan, path.basename(ONNX_WEIGHTS)));
    await graph.finish();
  }
  await using weights = await MadeFile.create(target, options);
  for (const planned of plan.tensors.values()) await writeTensor(planned, file, weights);
  return await weights.finish();
}

/** Writes a tensor in slices. Of a matrix, its scales are kept until its bytes are written. */
async function writeTensor(planned: PlannedTensor, file: PartedFile, out: MadeFile): Promise<void> {
  const { offset } = planned.tensor;
  if (planned.kind !== 'blocks') {
    const bytes = bytesOf(planned);
    for (let done = 0; done < bytes; done += SLICE_BYTES)
      await out.write(await file.read(offset + done, Math.min(SLICE_BYTES, bytes - done)));
    return;
  }
  const blocks = (planned.rows * planned.columns) / BLOCK;
  const scales = Buffer.allocUnsafe(scaleBytes(planned));
  const slice = Math.floor(SLICE_BYTES / BLOCK_BYTES);
  for (let done = 0; done < blocks; done += slice) {
    const count = Math.min(slice, blocks - done);
    const read = await file.read(offset + done * BLOCK_BYTES, count * BLOCK_BYTES);
    const bytes = Buffer.allocUnsafe(count * BLOCK);
    for (let block = 0; block < count; block += 1) {
      const from = block * BLOCK_BYTES;
      scales.writeFloatLE(floatOfHalf[read.readUInt16LE(from)] ?? NaN, 4 * (done + block));
      for (let at = 0; at < BLOCK; at += 1) bytes[block * BLOCK + at] = (read[from + 2 + at] ?? 0) ^ SIGN;
    }
    await out.write(bytes);
  }
  await out.write(scales);
}

function modelConfig(source: GgufSource, { shape }: DecoderPlan): object {
  return {
    model_type: source.architecture,
    architectures: [source.architecture === 'llama' ? 'LlamaForCausalLM' : 'Qwen2ForCausalLM'],
    hidden_size: shape.hidden,
    intermediate_size: shape.feedForward,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headSize,
    vocab_size: shape.vocabulary,
    max_position_embeddings: shape.contextTokens,
    rms_norm_eps: shape.epsilon,
    rope_theta: shape.ropeBase,
    ...endsOf(source),
  };
}

/** The tokens with which texts begin and end, in the words of Transformers. */
function endsOf(source: GgufSource): object {
  const { bos, pad } = specialTokens(source);
  const ends = endTokens(source);
  return { bos_token_id: bos, eos_token_id: ends.length === 1 ? ends[0] : ends, pad_token_id: pad };
}
