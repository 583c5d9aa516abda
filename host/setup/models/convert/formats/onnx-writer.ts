/** Types of tensors in ONNX. */
const FLOAT = 1;
const INT64 = 7;
/** Types of attributes in ONNX. */
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const;

const IR_VERSION = 8;
const OPSET = 13;

type Attribute = number | string | readonly number[] | { readonly float: number };

/** Length of an axis. A text names an axis of any length. */
export type OnnxAxis = number | string;

/** A graph that is built node by node. Each method returns the name of the value that it adds. */
export class OnnxGraph {
  readonly #name: string;
  readonly #nodes: Buffer[] = [];
  readonly #constants = new Map<string, Buffer>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Adds a tensor of floats. */
  floats(name: string, shape: readonly number[], data: Float32Array): string {
    const count = shape.reduce((product, length) => product * length, 1);
    if (count !== data.length) throw new RangeError(`${name} has ${data.length} numbers instead of ${count}`);
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return this.#constant(name, [
      ...shape.map((length) => int(1, length)),
      int(2, FLOAT),
      field(8, name),
      field(9, bytes),
    ]);
  }

  /** Adds a list of integers, such as a shape. The same list is added once. */
  ints(...values: readonly number[]): string {
    const name = `ints_${values.join('_')}`;
    const bytes = Buffer.alloc(8 * values.length);
    values.forEach((value, at) => bytes.writeBigInt64LE(BigInt(value), 8 * at));
    return this.#constant(name, [int(1, values.length), int(2, INT64), field(8, name), field(9, bytes)]);
  }

  /** Adds a node with one output, whose name is chosen if `output` is absent. */
  node(
    operator: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output = `${operator}_${this.#nodes.length}`,
  ): string {
    this.#nodes.push(
      message(1, [
        ...inputs.map((input) => field(1, input)),
        field(2, output),
        field(3, `node_${output}`),
        field(4, operator),
        ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
      ]),
    );
    return output;
  }

  /** Returns the model in pieces, with a 32-bit float input and output, and texts about the model. */
  finish(
    input: readonly [name: string, shape: readonly OnnxAxis[]],
    output: readonly [name: string, shape: readonly OnnxAxis[]],
    metadata: Readonly<Record<string, string | number>>,
  ): Buffer[] {
    const graph = [
      ...this.#nodes,
      field(2, this.#name),
      ...this.#constants.values(),
      valueInfo(11, ...input),
      valueInfo(12, ...output),
    ];
    const length = graph.reduce((sum, part) => sum + part.length, 0);
    return [
      int(1, IR_VERSION),
      field(2, 'aana-host'),
      Buffer.concat([varint(7 * 8 + 2), varint(length)]),
      ...graph,
      message(8, [int(2, OPSET)]),
      ...Object.entries(metadata).map(([key, value]) => message(14, [field(1, key), field(2, String(value))])),
    ];
  }

  #constant(name: string, parts: readonly Buffer[]): string {
    this.#constants.set(name, message(5, parts));
    return name;
  }
}

function attribute(name: string, value: Attribute): Buffer {
  if (typeof value === 'number') return message(5, [field(1, name), int(3, value), int(20, ATTRIBUTE.int)]);
  if (typeof value === 'string') return message(5, [field(1, name), field(4, value), int(20, ATTRIBUTE.string)]);
  if ('float' in value) {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value.float);
    return message(5, [field(1, name), varint(2 * 8 + 5), bytes, int(20, ATTRIBUTE.float)]);
  }
  return message(5, [field(1, name), ...value.map((each) => int(8, each)), int(20, ATTRIBUTE.ints)]);
}

function valueInfo(number: number, name: string, shape: readonly OnnxAxis[]): Buffer {
  const axes = shape.map((axis) => message(1, [typeof axis === 'number' ? int(1, axis) : field(2, axis)]));
  return message(number, [field(1, name), message(2, [message(1, [int(1, FLOAT), message(2, axes)])])]);
}

/** Returns a number in protobuf's variable length. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** Returns a field of protobuf with a number. */
export const int = (number: number, value: number): Buffer => Buffer.concat([varint(number * 8), varint(value)]);

/** Returns a field of protobuf with bytes. */
export function field(number: number, content: Buffer | string): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** Returns a field of protobuf with a message of fields. */
export const message = (number: number, parts: readonly Buffer[]): Buffer => field(number, Buffer.concat(parts));
