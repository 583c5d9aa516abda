// The tensors of a Whisper model in the form of Hugging Face's Transformers.
import type { WhisperShape } from '../whisper-ggml.ts';

/** One tensor of the output, and the tensor that it is made of. */
export interface TransformersTensor {
  readonly name: string;
  /** Without the prefix `model.`. */
  readonly from: string;
  readonly type: 'f32' | 'f16';
  /** Of the checkpoint's tensor. */
  readonly expected: readonly number[];
  /** The output's shape, if it differs from the checkpoint's. */
  readonly shape?: readonly number[];
}

/** The widths of the layers between attention and attention. */
export interface FeedForwardWidths {
  readonly audio: number;
  readonly text: number;
}

/** The embeddings of tokens, which are the last layer, too. */
export const EMBEDDINGS = 'decoder.embed_tokens.weight';

/** Returns the tensors in the order of the published ggml files. */
export function planTransformersTensors(shape: WhisperShape, inner: FeedForwardWidths): TransformersTensor[] {
  const { audioState, textState, vocabularySize, audioContext, textContext, melBands } = shape;
  const position = (side: string, rows: number, width: number): TransformersTensor => ({
    name: `${side}.positional_embedding`,
    from: `${side}.embed_positions.weight`,
    type: 'f32',
    expected: [rows, width],
  });
  return [
    position('decoder', textContext, textState),
    position('encoder', audioContext, audioState),
    { name: 'decoder.token_embedding.weight', from: EMBEDDINGS, type: 'f16', expected: [vocabularySize, textState] },
    ...blocks('decoder', shape.textLayers, (to, from) => [
      ...feedForward(to, from, textState, inner.text),
      ...attention(`${to}.attn`, `${from}.self_attn`, textState),
      ...attention(`${to}.cross_attn`, `${from}.encoder_attn`, textState, audioState),
    ]),
    ...layerNorm('decoder.ln', 'decoder.layer_norm', textState),
    ...convolution('encoder.conv1', audioState, melBands),
    ...convolution('encoder.conv2', audioState, audioState),
    ...blocks('encoder', shape.audioLayers, (to, from) => [
      ...feedForward(to, from, audioState, inner.audio),
      ...attention(`${to}.attn`, `${from}.self_attn`, audioState),
    ]),
    ...layerNorm('encoder.ln_post', 'encoder.layer_norm', audioState),
  ];
}

function blocks(
  side: string,
  count: number,
  plan: (to: string, from: string) => TransformersTensor[],
): TransformersTensor[] {
  return Array.from({ length: count }, (_, index) => plan(`${side}.blocks.${index}`, `${side}.layers.${index}`)).flat();
}

function vector(name: string, from: string, width: number): TransformersTensor {
  return { name, from, type: 'f32', expected: [width] };
}

function matrix(to: string, from: string, rows: number, columns: number): TransformersTensor {
  return { name: `${to}.weight`, from: `${from}.weight`, type: 'f16', expected: [rows, columns] };
}

function linear(to: string, from: string, rows: number, columns: number): TransformersTensor[] {
  return [matrix(to, from, rows, columns), vector(`${to}.bias`, `${from}.bias`, rows)];
}

function layerNorm(to: string, from: string, width: number): TransformersTensor[] {
  return [vector(`${to}.weight`, `${from}.weight`, width), vector(`${to}.bias`, `${from}.bias`, width)];
}

function feedForward(to: string, from: string, width: number, inner: number): TransformersTensor[] {
  return [
    ...layerNorm(`${to}.mlp_ln`, `${from}.final_layer_norm`, width),
    ...linear(`${to}.mlp.0`, `${from}.fc1`, inner, width),
    ...linear(`${to}.mlp.2`, `${from}.fc2`, width, inner),
  ];
}

/** Keys have no bias. Those of the attention to the audio are `keyWidth` wide. */
function attention(to: string, from: string, width: number, keyWidth: number = width): TransformersTensor[] {
  return [
    ...layerNorm(`${to}_ln`, `${from}_layer_norm`, width),
    ...linear(`${to}.query`, `${from}.q_proj`, width, width),
    matrix(`${to}.key`, `${from}.k_proj`, width, keyWidth),
    ...linear(`${to}.value`, `${from}.v_proj`, width, keyWidth),
    ...linear(`${to}.out`, `${from}.out_proj`, width, width),
  ];
}

/** Gives the bias the shape of a column, because ggml adds it to every frame. */
function convolution(name: string, width: number, inputs: number): TransformersTensor[] {
  return [
    { name: `${name}.weight`, from: `${name}.weight`, type: 'f16', expected: [width, inputs, 3] },
    { ...vector(`${name}.bias`, `${name}.bias`, width), shape: [width, 1] },
  ];
}
