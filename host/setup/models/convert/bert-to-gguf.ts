import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { ggufHeader, ggufPadding, ggufPair, type GgufTensorEntry } from '../../../../native/lib/index.ts';
import { formatError } from './formats/format-error.ts';
import { floatOfHalf, halfOfFloat } from './formats/half.ts';
import { MadeFile, type MadeFileResult, type MakeOptions, SLICE_BYTES } from './formats/made-file.ts';
import { PartedFile } from './formats/parted-file.ts';
import { readSafetensors, type SafetensorsEntry } from './formats/safetensors.ts';

/** The files of a sentence-transformers folder. */
export interface BertFiles {
  /** `model.safetensors`. */
  readonly weights: string;
  /** `config.json`. */
  readonly config: string;
  /** `vocab.txt`. */
  readonly vocabulary: string;
  /** `tokenizer_config.json`. */
  readonly tokenizer: string;
  /** `1_Pooling/config.json`. */
  readonly pooling: string;
}

export interface BertNames {
  /** Type of the matrices. */
  readonly type: 'f16' | 'f32';
  readonly name: string;
  readonly licence: string;
}

const Config = z.object({
  model_type: z.literal('bert'),
  hidden_act: z.literal('gelu'),
  position_embedding_type: z.literal('absolute').default('absolute'),
  vocab_size: z.int(),
  num_hidden_layers: z.int(),
  max_position_embeddings: z.int(),
  hidden_size: z.int(),
  intermediate_size: z.int(),
  num_attention_heads: z.int(),
  layer_norm_eps: z.number(),
  type_vocab_size: z.int(),
});
type Config = z.output<typeof Config>;
const Tokenizer = z.object({ do_lower_case: z.boolean().default(true) });
const Pooling = z.object({
  pooling_mode_mean_tokens: z.boolean().default(false),
  pooling_mode_cls_token: z.boolean().default(false),
  pooling_mode_lasttoken: z.boolean().default(false),
});

const GGML_TYPES = { f32: 0, f16: 1 } as const;
const CONTROL = 3;
const NORMAL = 1;

/** Names of tensors in the checkpoint and in GGUF files. */
const TABLES: readonly (readonly [checkpoint: string, gguf: string])[] = [
  ['embeddings.word_embeddings.weight', 'token_embd.weight'],
  ['embeddings.position_embeddings.weight', 'position_embd.weight'],
  ['embeddings.token_type_embeddings.weight', 'token_types.weight'],
  ['embeddings.LayerNorm.weight', 'token_embd_norm.weight'],
  ['embeddings.LayerNorm.bias', 'token_embd_norm.bias'],
];
const LAYER: readonly (readonly [checkpoint: string, gguf: string])[] = [
  ['attention.self.query', 'attn_q'],
  ['attention.self.key', 'attn_k'],
  ['attention.self.value', 'attn_v'],
  ['attention.output.dense', 'attn_output'],
  ['attention.output.LayerNorm', 'attn_output_norm'],
  ['intermediate.dense', 'ffn_up'],
  ['output.dense', 'ffn_down'],
  ['output.LayerNorm', 'layer_output_norm'],
];

interface Tensor extends GgufTensorEntry {
  readonly source: SafetensorsEntry;
}

/**
 * Converts a BERT model for embeddings, such as all-MiniLM-L6-v2, to a GGUF file with the tensors of llama.cpp's own
 * converter. Throws `ModelFormatError` for files of another model and for truncated ones.
 */
export async function convertBert(
  files: BertFiles,
  target: string,
  names: BertNames,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const config = await readJson(files.config, Config);
  await using weights = await PartedFile.open([files.weights]);
  const tensors = tensorsOf(config, await readSafetensors(weights), names.type, weights.label);
  const pairs = [
    ...modelPairs(config, await poolingOf(files.pooling), names),
    ...(await vocabularyPairs(files, config)),
  ];
  await using out = await MadeFile.create(target, options);
  await out.write(ggufHeader(pairs, tensors));
  for (const tensor of tensors) {
    for (let done = 0; done < tensor.source.bytes; done += SLICE_BYTES) {
      const slice = await weights.read(tensor.source.offset + done, Math.min(SLICE_BYTES, tensor.source.bytes - done));
      await out.write(encode(slice, tensor.source.type, tensor.type));
    }
    await out.write(ggufPadding(tensor.bytes));
  }
  return await out.finish();
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const label = path.basename(file);
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    const reason =
      error instanceof z.ZodError ? error.issues.map((issue) => issue.path.join('.')).join(', ') : 'no JSON';
    throw formatError(label, `it does not describe a BERT model that can be converted: ${reason}`, error);
  }
}

async function poolingOf(file: string): Promise<number> {
  const pooling = await readJson(file, Pooling);
  if (pooling.pooling_mode_mean_tokens) return 1;
  if (pooling.pooling_mode_cls_token) return 2;
  if (pooling.pooling_mode_lasttoken) return 3;
  throw formatError(path.basename(file), 'its pooling is not mean, cls or last');
}

function tensorsOf(
  config: Config,
  found: ReadonlyMap<string, SafetensorsEntry>,
  type: BertNames['type'],
  label: string,
): Tensor[] {
  const layers = Array.from({ length: config.num_hidden_layers }, (_, index) =>
    LAYER.flatMap(([checkpoint, gguf]) =>
      ['weight', 'bias'].map(
        (kind) => [`encoder.layer.${index}.${checkpoint}.${kind}`, `blk.${index}.${gguf}.${kind}`] as const,
      ),
    ),
  );
  return [...TABLES, ...layers.flat()].map(([checkpoint, name]) => {
    const source = found.get(checkpoint) ?? found.get(`bert.${checkpoint}`);
    if (!source) throw formatError(label, `the model has no tensor ${checkpoint}`);
    // Vectors, positions and segments stay exact.
    const isExact = source.shape.length < 2 || name.startsWith('position_embd') || name.startsWith('token_types');
    const kept = isExact ? 'f32' : type;
    const weights = source.shape.reduce((product, length) => product * length, 1);
    const bytes = weights * (kept === 'f32' ? 4 : 2);
    return { name, dimensions: source.shape.toReversed(), type: GGML_TYPES[kept], bytes, source };
  });
}

/** Converts floats, a whole number of them. */
function encode(data: Buffer, from: SafetensorsEntry['type'], to: number): Buffer {
  if (from === 'F32' && to === GGML_TYPES.f32) return data;
  const count = data.length / (from === 'F32' ? 4 : 2);
  const out = Buffer.alloc(count * (to === GGML_TYPES.f32 ? 4 : 2));
  for (let index = 0; index < count; index += 1) {
    const value = from === 'F32' ? data.readFloatLE(4 * index) : halfValue(data.readUInt16LE(2 * index), from);
    if (to === GGML_TYPES.f32) out.writeFloatLE(value, 4 * index);
    else out.writeUInt16LE(halfOfFloat(value), 2 * index);
  }
  return out;
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

function halfValue(bits: number, type: SafetensorsEntry['type']): number {
  if (type === 'F16') return floatOfHalf[bits] ?? NaN;
  scratchBits[0] = bits << 16;
  return scratch[0] ?? NaN;
}

function modelPairs(config: Config, pooling: number, { type, name, licence }: BertNames): Buffer[] {
  const sizes = {
    block_count: config.num_hidden_layers,
    context_length: config.max_position_embeddings,
    embedding_length: config.hidden_size,
    feed_forward_length: config.intermediate_size,
    'attention.head_count': config.num_attention_heads,
    pooling_type: pooling,
  };
  return [
    ggufPair.text('general.architecture', 'bert'),
    ggufPair.text('general.type', 'model'),
    ggufPair.text('general.name', name),
    ggufPair.text('general.license', licence),
    ggufPair.uint32('general.file_type', GGML_TYPES[type]),
    ggufPair.uint32('general.quantization_version', 2),
    ...Object.entries(sizes).map(([key, value]) => ggufPair.uint32(`bert.${key}`, value)),
    ggufPair.float32('bert.attention.layer_norm_epsilon', config.layer_norm_eps),
    ggufPair.bool('bert.attention.causal', false),
  ];
}

async function vocabularyPairs(files: BertFiles, config: Config): Promise<Buffer[]> {
  const label = path.basename(files.vocabulary);
  const words = (await readFile(files.vocabulary, 'utf8')).split(/\r?\n/);
  if (words.at(-1) === '') words.pop();
  if (words.length !== config.vocab_size)
    throw formatError(label, `it has ${words.length} tokens instead of ${config.vocab_size}`);
  const idOf = (token: string): number => {
    const id = words.indexOf(token);
    return id >= 0 ? id : missing(label, token);
  };
  const ids = {
    bos: idOf('[CLS]'),
    eos: idOf('[SEP]'),
    unknown: idOf('[UNK]'),
    seperator: idOf('[SEP]'), // spelt so in the format
    padding: idOf('[PAD]'),
    mask: idOf('[MASK]'),
  };
  const control = new Set(Object.values(ids));
  const { do_lower_case: isLowerCase } = await readJson(files.tokenizer, Tokenizer);
  // llama.cpp marks the beginning of a word with ▁, where the vocabulary marks the rest of a word with ##.
  const tokens = words.map((word, id) => (control.has(id) ? word : word.startsWith('##') ? word.slice(2) : `▁${word}`));
  return [
    ggufPair.uint32('tokenizer.ggml.token_type_count', config.type_vocab_size),
    ggufPair.text('tokenizer.ggml.model', 'bert'),
    ggufPair.text('tokenizer.ggml.pre', 'jina-v2-en'), // llama.cpp's name for BERT's rules
    ggufPair.texts('tokenizer.ggml.tokens', tokens),
    ggufPair.int32s(
      'tokenizer.ggml.token_type',
      tokens.map((_, id) => (control.has(id) ? CONTROL : NORMAL)),
    ),
    ...Object.entries(ids).map(([role, id]) => ggufPair.uint32(`tokenizer.ggml.${role}_token_id`, id)),
    ggufPair.bool('tokenizer.ggml.add_bos_token', true),
    ggufPair.bool('tokenizer.ggml.add_eos_token', true),
    ggufPair.bool('tokenizer.ggml.add_sep_token', false),
    ggufPair.bool('tokenizer.ggml.normalizer.lowercase', isLowerCase),
  ];
}

function missing(label: string, token: string): never {
  throw formatError(label, `it has no token ${token}`);
}
