import { open, stat } from 'node:fs/promises';
import { partNames } from '../../../base/core/model-files/split-file-names.ts';
import { mostTokens, type RopeScaling } from './context-length.ts';
import { countOf, readGgufHeader } from './gguf-header.ts';

/** Least memory of a replica, estimated before it starts. */
export interface MemoryNeed {
  /** Bytes of the weights. Replicas on the CPU share them where the file stays mapped. */
  readonly weightsBytes: number;
  /** Bytes of the state of the texts or sounds that the replica works on. */
  readonly contextBytes: number;
  /** Ratio by which the memory is divided among several GPUs. Default: equal parts. */
  readonly parts?: readonly number[] | undefined;
}

export interface LlamaMemorySettings {
  /** Tokens of one sequence; 0 is the length that the model was trained with. */
  readonly contextTokens: number;
  /** Lets a sequence be longer than what the model was trained with. */
  readonly ropeScaling?: RopeScaling | undefined;
  readonly sequences: number;
  /** Tokens of all sequences together, at least those of one. 0, the default: each sequence has its own. */
  readonly totalTokens?: number;
  /**
   * Tokens of one computation, where layers with a sliding window keep little more than their window, for each
   * sequence. Default: such layers keep all tokens.
   */
  readonly passTokens?: number | undefined;
  readonly keyType: KvTypeName;
  readonly valueType: KvTypeName;
  /** Layers on the GPU; −1 is all. Only their memory is counted. */
  readonly gpuLayers: number;
  readonly parts?: readonly number[] | undefined;
  /** Files of LoRA adapters, which are loaded besides the model. */
  readonly adapters?: readonly string[] | undefined;
}

/** Bytes of one number of the context memory: q8_0 keeps 32 of them in 34 bytes. */
const KV_BYTES = {
  ...{ f16: 2, bf16: 2, q8_0: 34 / 32 },
  ...{ q5_1: 24 / 32, q5_0: 22 / 32, q4_1: 20 / 32, q4_0: 18 / 32 },
};

/** Types of the keys and values of the context memory. */
export type KvTypeName = keyof typeof KV_BYTES;
export const KV_TYPES = Object.keys(KV_BYTES) as [KvTypeName, ...KvTypeName[]];

/**
 * Of architectures whose files do not say it, as in llama.cpp: one layer in so many has no window. Layers of others
 * count as without one.
 */
export const WINDOW_PERIODS: Readonly<Record<string, number>> = {
  ...{ gemma2: 2, gemma3: 6, gemma3n: 5, 'gpt-oss': 2, cohere2: 4 },
};

/** More than llama.cpp takes. */
const MOST_LAYERS = 1024;

/** The tokens that a layer with a window keeps are a multiple of it. */
const WINDOW_STEP = 256;

/**
 * Returns the memory of the weights of a GGUF file or of all parts of a split model, and of the keys and values of all
 * sequences, as its header states. Entries of the header that are missing or count nothing are 0.
 */
export async function llamaMemory(
  path: string,
  {
    contextTokens,
    ropeScaling,
    sequences,
    totalTokens = 0,
    passTokens,
    keyType,
    valueType,
    gpuLayers,
    parts,
    adapters = [],
  }: LlamaMemorySettings,
): Promise<MemoryNeed> {
  let size = 0;
  for (const name of [...partNames(path), ...adapters]) size += (await stat(name)).size;
  const header = await readGgufHeader(path);
  const architecture = header?.get('general.architecture');
  const of = (key: string): number | readonly number[] | undefined => {
    const value = header?.get(`${String(architecture)}.${key}`);
    if (value === undefined || typeof value === 'string') return undefined;
    return typeof value === 'number' ? countOf(value) : value.map(countOf);
  };
  const one = (key: string): number => {
    const value = of(key);
    return typeof value === 'number' ? value : Math.max(0, ...(value ?? []));
  };
  const layers = one('block_count');
  const heads = one('attention.head_count');
  const headsOfValues = of('attention.head_count_kv') ?? heads;
  const headSize = heads > 0 ? one('embedding_length') / heads : 0;
  const bytesOfHead =
    (one('attention.key_length') || headSize) * KV_BYTES[keyType] +
    (one('attention.value_length') || headSize) * KV_BYTES[valueType];
  const longest = mostTokens(one('context_length'), ropeScaling);
  // The engine limits sequences to what the model can read.
  const tokensOfOne = contextTokens > 0 && longest > 0 ? Math.min(contextTokens, longest) : contextTokens || longest;
  const most = tokensOfOne * sequences;
  const tokens = totalTokens > 0 ? Math.min(Math.max(totalTokens, tokensOfOne), most) : most;
  const window = one('attention.sliding_window');
  /** What a layer with a window keeps, as llama.cpp rounds it. */
  const inWindow =
    passTokens !== undefined && window > 0
      ? Math.min(tokens, sequences * Math.ceil((window + passTokens) / WINDOW_STEP) * WINDOW_STEP)
      : tokens;
  const period = of('attention.sliding_window_pattern') ?? WINDOW_PERIODS[String(architecture)] ?? 1;
  /** In hybrid models such as Qwen3.5, each nth layer alone has keys and values. */
  const interval = Math.max(1, one('full_attention_interval'));
  let cells = 0; // of all layers and heads
  for (let layer = 0; layer < Math.min(layers, MOST_LAYERS); layer += 1) {
    if ((layer + 1) % interval !== 0) continue;
    const kvHeads = typeof headsOfValues === 'number' ? headsOfValues : (headsOfValues[layer] ?? 0);
    const isWindowed = typeof period === 'number' ? (layer + 1) % period !== 0 : period[layer] === 1;
    cells += kvHeads * (isWindowed ? inWindow : tokens);
  }
  const part = gpuLayers < 0 || layers === 0 ? 1 : Math.min(1, gpuLayers / layers);
  return {
    weightsBytes: Math.ceil(size * part),
    contextBytes: Math.ceil(bytesOfHead * cells * part),
    ...(parts && { parts }),
  };
}

/** Returns the memory of a vision projector, which lies on one device with all of its layers. */
export const projectorMemory = async (path: string): Promise<MemoryNeed> => ({
  weightsBytes: (await stat(path)).size,
  contextBytes: 0,
});

/** Returns the memory of two models that are divided among the GPUs in the same way. */
export const sumOfNeeds = (one: MemoryNeed, other: MemoryNeed): MemoryNeed => ({
  ...one,
  weightsBytes: one.weightsBytes + other.weightsBytes,
  contextBytes: one.contextBytes + other.contextBytes,
});

export interface EmbeddingMemorySettings {
  /** Most tokens of a text; 0 is the length that the model was trained with. */
  readonly contextTokens: number;
  /** Tokens of one computation. */
  readonly batchTokens: number;
  readonly gpuLayers: number;
  readonly parts?: readonly number[] | undefined;
}

/**
 * Returns the memory of a GGUF model for embeddings or scores: its weights, and the keys, values and outputs of one
 * computation.
 */
export async function embeddingMemory(
  path: string,
  { contextTokens, batchTokens, gpuLayers, parts }: EmbeddingMemorySettings,
): Promise<MemoryNeed> {
  const header = await readGgufHeader(path);
  const number = (key: string): number => countOf(header?.get(key));
  const architecture = String(header?.get('general.architecture'));
  const trained = number(`${architecture}.context_length`);
  const longest = contextTokens > 0 && trained > 0 ? Math.min(contextTokens, trained) : contextTokens || trained;
  // Such models compute a text at once, and keep no keys and values.
  const isWhole = header?.get(`${architecture}.attention.causal`) === 0;
  const batch = isWhole ? Math.max(batchTokens, longest) : batchTokens;
  const need = await llamaMemory(path, {
    contextTokens: Math.max(longest, batch),
    sequences: 1,
    keyType: 'f16',
    valueType: 'f16',
    gpuLayers,
    parts,
  });
  // llama.cpp computes the logits of each token where the model has them, and copies them.
  const outputs = isWhole ? number(`${architecture}.embedding_length`) : 2 * number('tokenizer.ggml.tokens');
  const activations =
    4 * number(`${architecture}.embedding_length`) + 2 * number(`${architecture}.feed_forward_length`);
  const contextBytes = (isWhole ? 0 : need.contextBytes) + batch * (outputs + activations) * FLOAT_BYTES;
  return { ...need, contextBytes };
}

const FLOAT_BYTES = 4;

const WHISPER_MAGIC = 0x67676d6c;

/**
 * Returns the memory of the weights of a Whisper model in ggml form, and of the keys and values of all windows that are
 * decoded at the same time: `windows` in each of `states` computations.
 */
export async function whisperMemory(path: string, states: number, windows: number): Promise<MemoryNeed> {
  const { size } = await stat(path);
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(48), 0, 48, 0);
    if (bytesRead < 48 || buffer.readUInt32LE(0) !== WHISPER_MAGIC) return { weightsBytes: size, contextBytes: 0 };
    // magic, n_vocab, n_audio_ctx, n_audio_state, n_audio_head, n_audio_layer, n_text_ctx, n_text_state, n_text_head,
    // n_text_layer
    const at = (index: number): number => buffer.readUInt32LE(index * 4);
    const [audioContext, textContext, textState, textLayers] = [at(2), at(6), at(7), at(9)];
    const bytesOfWindow = 2 * 2 * textLayers * textState * (audioContext + textContext);
    return { weightsBytes: size, contextBytes: states * windows * bytesOfWindow };
  } finally {
    await file.close();
  }
}
