import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TransformersFiles } from './transformers-to-ggml.ts';
import { tinyWhisperValues, VOCABULARY, vocabulary, WIDTH } from '../make-whisper.test.fixture.ts';

/** The form of a model of Transformers. */
export interface TransformersForm {
  /** Type of all weights. The values are those of the model of CTranslate2 with `float16` or `float32` weights. */
  readonly type: 'F16' | 'F32' | 'BF16';
  /** Number of files; more than one have an index. Default: 1. */
  readonly shards?: number;
  /** Default: `model.`, as models with a head for text have. */
  readonly prefix?: string;
  /** Whether values lose what 16 bits of `bfloat16` cannot say. */
  readonly isCoarse?: boolean;
  /** What `config.json` says instead. */
  readonly config?: object;
  /** Changes the tensors before they are written. */
  readonly change?: (tensors: Map<string, MadeTensor>) => void;
}

export interface MadeTensor {
  readonly shape: readonly number[];
  readonly data: Buffer;
}

const CONFIG = {
  model_type: 'whisper',
  vocab_size: VOCABULARY,
  d_model: WIDTH,
  encoder_layers: 1,
  decoder_layers: 1,
  encoder_attention_heads: 2,
  decoder_attention_heads: 2,
  encoder_ffn_dim: 4 * WIDTH,
  decoder_ffn_dim: 4 * WIDTH,
  num_mel_bins: 80,
  max_source_positions: 8,
  max_target_positions: 4,
};

/** Writes the model of `writeTinyWhisper` in the form of Transformers, with a `vocab.json`. */
export async function writeTinyTransformers(dir: string, form: TransformersForm): Promise<TransformersFiles> {
  await mkdir(dir, { recursive: true });
  const tensors = tensorsOf(form);
  form.change?.(tensors);
  const config = path.join(dir, 'config.json');
  const tokenizer = path.join(dir, 'vocab.json');
  await writeFile(config, JSON.stringify({ ...CONFIG, ...form.config }));
  await writeFile(tokenizer, JSON.stringify(vocabulary()));
  const count = form.shards ?? 1;
  const names = Array.from({ length: count }, (_, index) =>
    count === 1 ? 'model.safetensors' : `model-0000${index + 1}-of-0000${count}.safetensors`,
  );
  const entries = [...tensors];
  const weightMap: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = entries.filter((_, at) => at % count === index);
    for (const [tensor] of part) weightMap[tensor] = name;
    await writeFile(path.join(dir, name), safetensors(part, form.type));
  }
  if (count > 1)
    await writeFile(path.join(dir, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
  return { weights: names.map((name) => path.join(dir, name)), config, tokenizer };
}

function safetensors(tensors: readonly (readonly [string, MadeTensor])[], type: string): Buffer {
  const header: Record<string, object> = { __metadata__: { format: 'pt' } };
  let at = 0;
  for (const [name, { shape, data }] of tensors) {
    header[name] = { dtype: type, shape, data_offsets: [at, at + data.length] };
    at += data.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...tensors.map(([, { data }]) => data)]);
}

/** Takes the fused layers of CTranslate2 apart. Rows are counted in widths of the model. */
function tensorsOf({ type, prefix = 'model.', isCoarse = false }: TransformersForm): Map<string, MadeTensor> {
  const values = tinyWhisperValues(type === 'F16' ? 'float16' : 'float32');
  const tensors = new Map<string, MadeTensor>();
  const put = (to: string, from: string, first?: number): void => {
    const { shape, data } = values.get(from)!;
    const rowBytes = data.length / shape[0]!;
    const part = first === undefined ? data : data.subarray(first * WIDTH * rowBytes, (first + 1) * WIDTH * rowBytes);
    const rows = first === undefined ? shape[0]! : WIDTH;
    tensors.set(`${prefix}${to}`, { shape: [rows, ...shape.slice(1)], data: asType(part, type, isCoarse) });
  };
  const norm = (to: string, from: string): void => {
    put(`${to}.weight`, `${from}/gamma`);
    put(`${to}.bias`, `${from}/beta`);
  };
  const linear = (to: string, from: string, first?: number, hasBias = true): void => {
    put(`${to}.weight`, `${from}/weight`, first);
    if (hasBias) put(`${to}.bias`, `${from}/bias`, first);
  };
  for (const side of ['decoder', 'encoder']) {
    put(`${side}.embed_positions.weight`, `${side}/position_encodings/encodings`);
    const [to, from] = [`${side}.layers.0`, `${side}/layer_0`];
    norm(`${to}.self_attn_layer_norm`, `${from}/self_attention/layer_norm`);
    linear(`${to}.self_attn.q_proj`, `${from}/self_attention/linear_0`, 0);
    linear(`${to}.self_attn.k_proj`, `${from}/self_attention/linear_0`, 1, false);
    linear(`${to}.self_attn.v_proj`, `${from}/self_attention/linear_0`, 2);
    linear(`${to}.self_attn.out_proj`, `${from}/self_attention/linear_1`);
    norm(`${to}.final_layer_norm`, `${from}/ffn/layer_norm`);
    linear(`${to}.fc1`, `${from}/ffn/linear_0`);
    linear(`${to}.fc2`, `${from}/ffn/linear_1`);
    norm(`${side}.layer_norm`, `${side}/layer_norm`);
  }
  put('decoder.embed_tokens.weight', 'decoder/embeddings/weight');
  norm('decoder.layers.0.encoder_attn_layer_norm', 'decoder/layer_0/attention/layer_norm');
  linear('decoder.layers.0.encoder_attn.q_proj', 'decoder/layer_0/attention/linear_0');
  linear('decoder.layers.0.encoder_attn.k_proj', 'decoder/layer_0/attention/linear_1', 0, false);
  linear('decoder.layers.0.encoder_attn.v_proj', 'decoder/layer_0/attention/linear_1', 1);
  linear('decoder.layers.0.encoder_attn.out_proj', 'decoder/layer_0/attention/linear_2');
  for (const name of ['conv1', 'conv2']) linear(`encoder.${name}`, `encoder/${name}`);
  return tensors;
}

/** Returns 16-bit values as they are; 32-bit values as `type`. */
function asType(data: Buffer, type: TransformersForm['type'], isCoarse: boolean): Buffer {
  if (type === 'F16' || (type === 'F32' && !isCoarse)) return data;
  const count = data.length / 4;
  const out = Buffer.alloc(type === 'F32' ? data.length : 2 * count);
  for (let index = 0; index < count; index += 1) {
    const bits = data.readUInt32LE(4 * index) & 0xffff0000;
    if (type === 'F32') out.writeUInt32LE(bits >>> 0, 4 * index);
    else out.writeUInt16LE(bits >>> 16, 2 * index);
  }
  return out;
}
