import { OnnxGraph, type OnnxPort, type OnnxType, RUNTIME_DOMAIN } from '../formats/onnx-writer.ts';
import { BLOCK, bytesOf, type DecoderPlan, type DecoderShape, type PlannedTensor, scaleBytes } from './decoder-plan.ts';

const CAST = { float32: 1, int32: 6 } as const;
/** The zero of bytes that stand for signed ones. */
const MIDDLE = 128;
/** Products with activations of 8 bits, as llama.cpp computes them. */
const EIGHT_BIT_ACTIVATIONS = 4;

/**
 * Returns a decoder in ONNX form, in the pieces of its file, over the file of weights `location`. Inputs are
 * `input_ids` [1, tokens], `attention_mask` [1, all tokens] and the keys and values of earlier tokens; outputs are the
 * `logits` of the last token [1, 1, vocabulary] and the keys and values of all tokens.
 */
export function decoderGraph(plan: DecoderPlan, location: string): Buffer[] {
  const { shape } = plan;
  const graph = new GraphOfWeights(plan, location);
  const { onnx } = graph;
  let x = graph.rows('token_embd.weight', 'input_ids');
  const positions = positionsOf(onnx, shape);
  for (let layer = 0; layer < shape.layers; layer += 1) {
    const part = (name: string): string => `blk.${layer}.${name}`;
    const into = graph.norm(x, part('attn_norm.weight'));
    const attended = `attended_${layer}`;
    onnx.operation(
      'GroupQueryAttention',
      [
        ...['attn_q', 'attn_k', 'attn_v'].map((name) => graph.product(into, part(name))),
        `past_key_values.${layer}.key`,
        `past_key_values.${layer}.value`,
        ...positions,
      ],
      {
        num_heads: shape.heads,
        kv_num_heads: shape.kvHeads,
        do_rotary: 1,
        rotary_interleaved: Number(shape.isInterleaved),
      },
      [attended, `present.${layer}.key`, `present.${layer}.value`],
      RUNTIME_DOMAIN,
    );
    x = onnx.node('Add', [x, graph.product(attended, part('attn_output'))]);
    const wide = graph.norm(x, part('ffn_norm.weight'));
    const gate = graph.product(wide, part('ffn_gate'));
    const open = onnx.node('Mul', [gate, onnx.node('Sigmoid', [gate])]);
    const narrowed = onnx.node('Mul', [open, graph.product(wide, part('ffn_up'))]);
    x = onnx.node('Add', [x, graph.product(narrowed, part('ffn_down'))]);
  }
  const last = onnx.node('Gather', [x, onnx.ints(-1)], { axis: 1 });
  const output = plan.tensors.has('output.weight') ? 'output' : 'token_embd';
  graph.product(graph.norm(last, 'output_norm.weight'), output, 'logits');
  return onnx.finish(
    [
      ['input_ids', [1, 'tokens'], 'int64'],
      ['attention_mask', [1, 'all_tokens'], 'int64'],
      ...cache(shape, 'past_key_values', 'earlier_tokens'),
    ],
    [['logits', [1, 1, shape.vocabulary]], ...cache(shape, 'present', 'all_tokens')],
    {},
  );
}

const cache = ({ layers, kvHeads, headSize }: DecoderShape, prefix: string, tokens: string): OnnxPort[] =>
  Array.from({ length: layers }, (_, layer) => layer).flatMap((layer) =>
    ['key', 'value'].map((part): OnnxPort => [`${prefix}.${layer}.${part}`, [1, kvHeads, tokens, headSize]]),
  );

/** Adds what attention needs of positions: the number of tokens in two forms, and the angles of all positions. */
function positionsOf(graph: OnnxGraph, { contextTokens, headSize, ropeBase }: DecoderShape): string[] {
  const lengths = graph.node('Shape', ['attention_mask']);
  const all = graph.node('Gather', [lengths, graph.ints(1)], { axis: 0 }); // one number
  const before = graph.node('Cast', [graph.node('Sub', [all, graph.ints(1)])], { to: CAST.int32 });
  const half = headSize / 2;
  const speeds = Array.from({ length: half }, (_, at) => ropeBase ** (-at / half));
  const angles = new Float64Array(contextTokens * half).map((_, at) => Math.floor(at / half) * speeds[at % half]!);
  return [
    before,
    graph.node('Cast', [graph.node('Squeeze', [all])], { to: CAST.int32 }),
    graph.floats('cosines', [contextTokens, half], Float32Array.from(angles, Math.cos)),
    graph.floats('sines', [contextTokens, half], Float32Array.from(angles, Math.sin)),
  ];
}

/** A graph with the tensors of a plan. */
class GraphOfWeights {
  readonly onnx = new OnnxGraph('decoder');
  readonly #plan: DecoderPlan;
  readonly #location: string;

  constructor(plan: DecoderPlan, location: string) {
    this.#plan = plan;
    this.#location = location;
  }

  /** Adds the rows of a matrix for a list of numbers. */
  rows(name: string, ids: string): string {
    const { onnx } = this;
    const matrix = this.#matrix(name);
    const taken = onnx.node('Cast', [onnx.node('Gather', [name, ids])], { to: CAST.float32 });
    if (matrix.kind === 'halves') return taken;
    const signed = onnx.node('Sub', [taken, onnx.floats('middle', [1], Float32Array.of(MIDDLE))]);
    const scale = onnx.node('Unsqueeze', [onnx.node('Gather', [`${name}.scales`, ids]), onnx.ints(3)]);
    return onnx.node('Reshape', [onnx.node('Mul', [signed, scale]), onnx.ints(0, 0, matrix.columns)]);
  }

  norm(x: string, name: string): string {
    const epsilon = { float: this.#plan.shape.epsilon };
    return this.onnx.node('SimplifiedLayerNormalization', [x, this.#floats(name)], { axis: 2, epsilon });
  }

  /** Adds the product with the matrix `<name>.weight`, plus `<name>.bias` if the model has one. */
  product(x: string, name: string, output = `${name}.product`): string {
    const hasBias = this.#plan.tensors.has(`${name}.bias`);
    const product = hasBias ? `${name}.unbiased` : output;
    this.#multiply(x, `${name}.weight`, product);
    return hasBias ? this.onnx.node('Add', [product, this.#floats(`${name}.bias`)], {}, output) : output;
  }

  #multiply(x: string, name: string, product: string): void {
    const { onnx } = this;
    const { kind, rows, columns } = this.#matrix(name);
    if (kind === 'halves') {
      // The runtime computes these once, when it loads the model.
      const wide = onnx.node('Cast', [name], { to: CAST.float32 });
      onnx.node('MatMul', [x, onnx.node('Transpose', [wide], { perm: [1, 0] })], {}, product);
      return;
    }
    const attributes = { N: rows, K: columns, block_size: BLOCK, bits: 8, accuracy_level: EIGHT_BIT_ACTIVATIONS };
    onnx.operation('MatMulNBits', [x, name, `${name}.scales`], attributes, [product], RUNTIME_DOMAIN);
  }

  #floats(name: string): string {
    const planned = this.#plan.tensors.get(name);
    if (planned?.kind !== 'floats') throw new TypeError(`${name} is not planned as floats`);
    this.#add(name, 'float32', [planned.length], planned.at, bytesOf(planned));
    return name;
  }

  /** Adds a matrix under its name, and its scales as `<name>.scales`. */
  #matrix(name: string): Exclude<PlannedTensor, { kind: 'floats' }> {
    const planned = this.#plan.tensors.get(name);
    if (planned === undefined || planned.kind === 'floats') throw new TypeError(`${name} is not planned as a matrix`);
    const { at, rows, columns } = planned;
    if (planned.kind === 'halves') {
      this.#add(name, 'float16', [rows, columns], at, bytesOf(planned));
      return planned;
    }
    const blocks = columns / BLOCK;
    this.#add(name, 'uint8', [rows, blocks, BLOCK], at, rows * columns);
    this.#add(`${name}.scales`, 'float32', [rows, blocks], at + rows * columns, scaleBytes(planned));
    return planned;
  }

  #add(name: string, type: OnnxType, shape: readonly number[], offset: number, bytes: number): void {
    this.onnx.external(name, type, shape, { location: this.#location, offset, bytes });
  }
}
