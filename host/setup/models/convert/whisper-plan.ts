import { formatError } from './formats/format-error.ts';
import { type Ct2Model, readScalar, requireVariable } from './formats/ctranslate2.ts';
import type { WhisperShape } from './whisper-ggml.ts';

/** One tensor of the output, with the variable and the rows that it is made of. */
export interface PlannedTensor {
  readonly name: string;
  readonly from: string;
  /** First row, and the row after the last. Missing: all rows. */
  readonly rows?: readonly [first: number, end: number];
  readonly type: 'f32' | 'f16';
  /** The output's shape, if it differs from the variable's. */
  readonly shape?: readonly number[];
}

/** Reads the model's dimensions from its variables, because `config.json` is not always right. */
export async function readWhisperShape(model: Ct2Model): Promise<WhisperShape> {
  if (model.spec !== 'WhisperSpec') throw formatError(model.file.label, `this is a ${model.spec} model, not Whisper`);
  const layers = (side: string): number => {
    let count = 0;
    while (model.variableByName.has(`${side}/layer_${count}/self_attention/linear_0/weight`)) count += 1;
    return count;
  };
  const [vocabularySize = 0, textState = 0] = requireVariable(model, 'decoder/embeddings/weight', 2).shape;
  const [audioContext = 0, audioState = 0] = requireVariable(model, 'encoder/position_encodings/encodings', 2).shape;
  const [textContext = 0] = requireVariable(model, 'decoder/position_encodings/encodings', 2).shape;
  const [, melBands = 0] = requireVariable(model, 'encoder/conv1/weight', 3).shape;
  if (
    model.variableByName.has('decoder/scale_embeddings') &&
    (await readScalar(model, 'decoder/scale_embeddings')) !== 0
  ) {
    throw formatError(model.file.label, 'its embeddings are scaled, which Whisper does not support');
  }
  return {
    vocabularySize,
    audioContext,
    audioState,
    audioHeads: await readScalar(model, 'encoder/num_heads'),
    audioLayers: layers('encoder'),
    textContext,
    textState,
    textHeads: await readScalar(model, 'decoder/num_heads'),
    textLayers: layers('decoder'),
    melBands,
  };
}

/** Returns the tensors in the order of the published ggml files, which differs from the order of the network. */
export function planWhisperTensors(shape: WhisperShape): PlannedTensor[] {
  return [
    { name: 'decoder.positional_embedding', from: 'decoder/position_encodings/encodings', type: 'f32' },
    { name: 'encoder.positional_embedding', from: 'encoder/position_encodings/encodings', type: 'f32' },
    weight('decoder.token_embedding', 'decoder/embeddings'),
    ...blocks('decoder', shape.textLayers, (to, from) => [
      ...feedForward(to, from),
      ...selfAttention(to, from, shape.textState),
      ...crossAttention(to, from, shape.textState),
    ]),
    ...layerNorm('decoder.ln', 'decoder/layer_norm'),
    ...convolution('conv1', shape.audioState),
    ...convolution('conv2', shape.audioState),
    ...blocks('encoder', shape.audioLayers, (to, from) => [
      ...feedForward(to, from),
      ...selfAttention(to, from, shape.audioState),
    ]),
    ...layerNorm('encoder.ln_post', 'encoder/layer_norm'),
  ];
}

type Rows = readonly [first: number, end: number];

function blocks(side: string, count: number, plan: (to: string, from: string) => PlannedTensor[]): PlannedTensor[] {
  return Array.from({ length: count }, (_, index) => plan(`${side}.blocks.${index}`, `${side}/layer_${index}`)).flat();
}

function weight(to: string, from: string, rows?: Rows): PlannedTensor {
  return { name: `${to}.weight`, from: `${from}/weight`, type: 'f16', ...(rows && { rows }) };
}

function linear(to: string, from: string, rows?: Rows): PlannedTensor[] {
  return [weight(to, from, rows), { name: `${to}.bias`, from: `${from}/bias`, type: 'f32', ...(rows && { rows }) }];
}

function layerNorm(to: string, from: string): PlannedTensor[] {
  return [
    { name: `${to}.weight`, from: `${from}/gamma`, type: 'f32' },
    { name: `${to}.bias`, from: `${from}/beta`, type: 'f32' },
  ];
}

function feedForward(to: string, from: string): PlannedTensor[] {
  return [
    ...layerNorm(`${to}.mlp_ln`, `${from}/ffn/layer_norm`),
    ...linear(`${to}.mlp.0`, `${from}/ffn/linear_0`),
    ...linear(`${to}.mlp.2`, `${from}/ffn/linear_1`),
  ];
}

/**
 * Splits one fused layer: its rows are query, key and value. The key has no bias, because its third of the fused bias
 * is zero.
 */
function selfAttention(to: string, from: string, width: number): PlannedTensor[] {
  const fused = `${from}/self_attention/linear_0`;
  return [
    ...layerNorm(`${to}.attn_ln`, `${from}/self_attention/layer_norm`),
    ...linear(`${to}.attn.query`, fused, [0, width]),
    weight(`${to}.attn.key`, fused, [width, 2 * width]),
    ...linear(`${to}.attn.value`, fused, [2 * width, 3 * width]),
    ...linear(`${to}.attn.out`, `${from}/self_attention/linear_1`),
  ];
}

/** Splits the fused layer of key and value. The query has a layer of its own here. */
function crossAttention(to: string, from: string, width: number): PlannedTensor[] {
  const fused = `${from}/attention/linear_1`;
  return [
    ...layerNorm(`${to}.cross_attn_ln`, `${from}/attention/layer_norm`),
    ...linear(`${to}.cross_attn.query`, `${from}/attention/linear_0`),
    weight(`${to}.cross_attn.key`, fused, [0, width]),
    ...linear(`${to}.cross_attn.value`, fused, [width, 2 * width]),
    ...linear(`${to}.cross_attn.out`, `${from}/attention/linear_2`),
  ];
}

/** Gives the bias the shape of a column, because ggml adds it to every frame. */
function convolution(name: string, width: number): PlannedTensor[] {
  return [
    weight(`encoder.${name}`, `encoder/${name}`),
    { name: `encoder.${name}.bias`, from: `encoder/${name}/bias`, type: 'f32', shape: [width, 1] },
  ];
}
