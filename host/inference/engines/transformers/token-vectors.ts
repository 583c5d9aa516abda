// Runs in the thread of a pipeline: tokens and vectors of texts.
import type { OnnxTensor } from '../onnx/runtime.ts';

/** The used part of a tokenizer. */
export interface Tokenizer {
  readonly model_max_length: number;
  readonly pad_token_id?: number;
  encode(text: string, options: { readonly add_special_tokens: boolean }): number[];
  get_vocab(): { readonly size: number };
}

/** The used part of a pipeline for `feature-extraction`. */
export interface ExtractionPipeline {
  readonly tokenizer: Tokenizer;
  readonly model: ((inputs: object) => Promise<Readonly<Record<string, StatesTensor | undefined>>>) & {
    readonly config: { readonly max_position_embeddings?: unknown };
  };
}

interface StatesTensor extends OnnxTensor {
  to(type: 'float32'): { readonly data: Float32Array };
}

export type TensorClass = new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown;

export type Pooling = 'mean' | 'cls' | 'last';

/** What is known of the texts that a model reads. */
export interface TextFacts {
  /** Most tokens of a text, as far as the tokenizer or the model states it. */
  readonly maxTokens?: number;
  /** Tokens that the model wants before and after a text. */
  readonly begin: readonly number[];
  readonly end: readonly number[];
}

/** What is known of a model for vectors of texts. */
export interface TextModelFacts extends TextFacts {
  /** Numbers of a vector. */
  readonly dimensions: number;
  /** Number of tokens that the model knows. */
  readonly vocabulary: number;
}

/** A longest length from here on means that the tokenizer states none. */
const NO_LENGTH = 1e9;
const SAMPLE = 'hello';

/** Returns the tokens of a text, without those that the model wants around it. */
export const tokensOf = (tokenizer: Tokenizer, text: string): number[] =>
  tokenizer.encode(text, { add_special_tokens: false });

/** Returns the least of the lengths that are stated; undefined if none is. */
export function leastLength(...lengths: readonly unknown[]): number | undefined {
  const stated = lengths.filter(
    (length): length is number => typeof length === 'number' && length > 0 && length < NO_LENGTH,
  );
  return stated.length > 0 ? Math.min(...stated) : undefined;
}

/** `positions` are those that the model states, if it does. */
export function textFactsOf(tokenizer: Tokenizer, positions: unknown): TextFacts {
  const inner = tokensOf(tokenizer, SAMPLE);
  const whole = tokenizer.encode(SAMPLE, { add_special_tokens: true });
  const at = whole.findIndex((_, start) => inner.every((token, index) => whole[start + index] === token));
  if (inner.length === 0 || at === -1) throw new Error(`its tokenizer cannot read "${SAMPLE}"`);
  const maxTokens = leastLength(tokenizer.model_max_length, positions);
  return {
    ...(maxTokens !== undefined && { maxTokens }),
    begin: whole.slice(0, at),
    end: whole.slice(at + inner.length),
  };
}

export async function factsOf(pipeline: ExtractionPipeline, Tensor: TensorClass): Promise<TextModelFacts> {
  const { tokenizer, model } = pipeline;
  const facts = textFactsOf(tokenizer, model.config.max_position_embeddings);
  const whole = tokenizer.encode(SAMPLE, { add_special_tokens: true });
  const [{ length: dimensions }] = (await vectorsOf(pipeline, Tensor, [whole], 'mean')) as [Float32Array];
  return { dimensions, vocabulary: tokenizer.get_vocab().size, ...facts };
}

/** Returns a vector for each list of tokens, of which none is empty. Shorter lists are filled up. */
export async function vectorsOf(
  { tokenizer, model }: ExtractionPipeline,
  Tensor: TensorClass,
  rows: readonly (readonly number[])[],
  pooling: Pooling,
): Promise<Float32Array[]> {
  const width = Math.max(...rows.map(({ length }) => length));
  const ids = new BigInt64Array(rows.length * width).fill(BigInt(tokenizer.pad_token_id ?? 0));
  const mask = new BigInt64Array(ids.length);
  for (const [at, row] of rows.entries()) {
    ids.set(row.map(BigInt), at * width);
    mask.fill(1n, at * width, at * width + row.length);
  }
  const shape = [rows.length, width];
  const output = await model({
    input_ids: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
  });
  const states = output['last_hidden_state'] ?? output['logits'] ?? output['token_embeddings'];
  const dimensions = states?.dims[2];
  if (states?.dims[0] !== rows.length || states.dims[1] !== width || dimensions === undefined)
    throw new Error('the model answers no vector for each token');
  const { data } = states.to('float32');
  return rows.map(({ length }, at) =>
    pooled(data.subarray(at * width * dimensions, (at * width + length) * dimensions), dimensions, pooling),
  );
}

/** Returns the vector of a text. `states` has the vectors of its tokens, one after the other. */
function pooled(states: Float32Array, dimensions: number, pooling: Pooling): Float32Array {
  if (pooling === 'cls') return states.slice(0, dimensions);
  if (pooling === 'last') return states.slice(-dimensions);
  const mean = new Float32Array(dimensions);
  const tokens = states.length / dimensions;
  for (let at = 0; at < states.length; at += dimensions)
    for (let axis = 0; axis < dimensions; axis++) mean[axis]! += states[at + axis]!;
  for (let axis = 0; axis < dimensions; axis++) mean[axis]! /= tokens;
  return mean;
}
