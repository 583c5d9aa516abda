import path from 'node:path';
import * as z from 'zod';
import { formatError } from '../formats/format-error.ts';
import type { MadeFileResult, MakeOptions } from '../formats/made-file.ts';
import { SLICE_BYTES } from '../formats/made-file.ts';
import { readJsonFile } from '../formats/json-file.ts';
import { SafetensorsShards, type ShardEntry } from '../formats/safetensors-shards.ts';
import { EMBEDDINGS, planTransformersTensors, type TransformersTensor } from './transformers-plan.ts';
import { baseVocabulary } from '../vocabulary.ts';
import { type FloatType, type WhisperShape, type WhisperTensor, writeWhisperGgml } from '../whisper-ggml.ts';

export interface TransformersFiles {
  /** `model.safetensors`, or its parts. */
  readonly weights: readonly string[];
  /** `config.json`. */
  readonly config: string;
  /** `tokenizer.json` or `vocab.json`. */
  readonly tokenizer: string;
}

const count = z.int().min(1).max(1_000_000);
const Config = z.object({
  model_type: z.literal('whisper'),
  activation_function: z.literal('gelu').default('gelu'),
  scale_embedding: z.literal(false).default(false),
  tie_word_embeddings: z.literal(true).default(true),
  vocab_size: count,
  d_model: count,
  encoder_layers: count.max(1000),
  decoder_layers: count.max(1000),
  encoder_attention_heads: count,
  decoder_attention_heads: count,
  encoder_ffn_dim: count,
  decoder_ffn_dim: count,
  num_mel_bins: count.max(1000),
  max_source_positions: count,
  max_target_positions: count,
});
type Config = z.output<typeof Config>;

const FLOATS: Readonly<Record<ShardEntry['type'], FloatType>> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };
/** The last layer. It is the embeddings; some checkpoints have it twice. */
const LAST_LAYER = 'proj_out.weight';

/**
 * Converts a Whisper model of Hugging Face's Transformers (safetensors of 16 or 32-bit floats) to whisper.cpp's 16-bit
 * ggml file. Throws `ModelFormatError`, and leaves no file, for a truncated or foreign model, and for one whose tensors
 * are missing or have other shapes than its `config.json` says.
 */
export async function convertTransformers(
  source: TransformersFiles,
  target: string,
  options: MakeOptions = {},
): Promise<MadeFileResult> {
  const config = await readConfig(source.config);
  const shape = shapeOf(config);
  const tokenizer = await readJsonFile(
    source.tokenizer,
    'a Whisper model needs its tokenizer.json or vocab.json beside it',
  );
  const vocabulary = baseVocabulary(
    path.basename(source.tokenizer) === 'vocab.json' ? { model: { vocab: tokenizer } } : tokenizer,
    shape.vocabularySize,
    path.basename(source.tokenizer),
  );
  await using shards = await SafetensorsShards.open(source.weights);
  await checkLastLayer(shards);
  const inner = { audio: config.encoder_ffn_dim, text: config.decoder_ffn_dim };
  const tensors = planTransformersTensors(shape, inner).map((tensor) => resolved(shards, tensor));
  return await writeWhisperGgml(shape, vocabulary, tensors, path.basename(source.config), target, options);
}

async function readConfig(file: string): Promise<Config> {
  const parsed = Config.safeParse(await readJsonFile(file, 'a Whisper model needs its config.json beside it'));
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map((issue) => `${issue.path.join('.')} (${issue.message})`).join(', ');
  throw formatError(path.basename(file), `it does not describe a Whisper model that can be converted: ${reasons}`);
}

function shapeOf(config: Config): WhisperShape {
  return {
    vocabularySize: config.vocab_size,
    audioContext: config.max_source_positions,
    audioState: config.d_model,
    audioHeads: config.encoder_attention_heads,
    audioLayers: config.encoder_layers,
    textContext: config.max_target_positions,
    textState: config.d_model,
    textHeads: config.decoder_attention_heads,
    textLayers: config.decoder_layers,
    melBands: config.num_mel_bins,
  };
}

/** Models without a head for text have no prefix. */
const find = (shards: SafetensorsShards, name: string): ShardEntry | undefined =>
  shards.get(`model.${name}`) ?? shards.get(name);

function resolved(shards: SafetensorsShards, { name, from, type, expected, shape }: TransformersTensor): WhisperTensor {
  // Checkpoints may have the embeddings only as the last layer.
  const found = find(shards, from) ?? (from === EMBEDDINGS ? shards.get(LAST_LAYER) : undefined);
  if (!found) throw formatError(shards.label, `the model has no tensor ${from} of 16 or 32-bit floats`);
  if (found.shape.join() !== expected.join()) {
    const [is, asked] = [found.shape.join(', '), expected.join(', ')];
    const problem = `${from} has the shape [${is}], but config.json asks for [${asked}]`;
    throw formatError(found.file.label, problem);
  }
  return {
    name,
    shape: shape ?? expected,
    type,
    file: found.file,
    offset: found.offset,
    bytes: found.bytes,
    from: FLOATS[found.type],
  };
}

/** Whisper.cpp computes the last layer with the embeddings. Throws if the model has another one. */
async function checkLastLayer(shards: SafetensorsShards): Promise<void> {
  const [last, embeddings] = [shards.get(LAST_LAYER), find(shards, EMBEDDINGS)];
  if (!last || !embeddings) return;
  let isSame = last.type === embeddings.type && last.bytes === embeddings.bytes;
  for (let at = 0; isSame && at < last.bytes; at += SLICE_BYTES) {
    const length = Math.min(SLICE_BYTES, last.bytes - at);
    const values = await last.file.read(last.offset + at, length);
    isSame = values.equals(await embeddings.file.read(embeddings.offset + at, length));
  }
  if (!isSame)
    throw formatError(
      shards.label,
      `${LAST_LAYER} differs from ${EMBEDDINGS}; only models that share them can be converted`,
    );
}
