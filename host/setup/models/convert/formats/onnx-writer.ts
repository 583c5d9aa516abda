/** Numbers of ONNX's types of elements. */
const TYPES = { float32: 1, uint8: 2, int32: 6, int64: 7, float16: 10 } as const;
export type OnnxType = keyof typeof TYPES;
/** Types of attributes in ONNX. */
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const;

const IR_VERSION = 8;
const OPSET = 13;

type Attribute = number | string | readonly number[] | { readonly float: number };

/** Length of an axis. A text names an axis of any length. */
export type OnnxAxis = number | string;

/** An input or output of a graph. Its type is `float32` if none is given. */
export type OnnxPort = readonly [name: string, shape: readonly OnnxAxis[], type?: OnnxType];

/** The operators of the ONNX Runtime beside those of ONNX. */
export const RUNTIME_DOMAIN = 'com.microsoft';

/** Where the bytes of a tensor are: a file in the folder of the model. */
export interface ExternalPlace {
  readonly location: string;
  readonly offset: number;
  readonly bytes: number;
}

/** A graph that is built node by node. Each method returns the name of the value that it adds. */
export class OnnxGraph {
  readonly #name: string;
  readonly #nodes: Buffer[] = [];
  readonly #constants = new Map<string, Buffer>();
  readonly #domains = new Set<string>();

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
      int(2, TYPES.float32),
      field(8, name),
      field(9, bytes),
    ]);
  }

  /** Adds a tensor whose bytes are in another file. */
  external(name: string, type: OnnxType, shape: readonly number[], place: ExternalPlace): string {
    const entries = { location: place.location, offset: place.offset, length: place.bytes };
    return this.#constant(name, [
      ...shape.map((length) => int(1, length)),
      int(2, TYPES[type]),
      field(8, name),
      ...Object.entries(entries).map(([key, value]) => message(13, [field(1, key), field(2, String(value))])),
      int(14, 1),
    ]);
  }

  /** Adds a list of integers, such as a shape. The same list is added once. */
  ints(...values: readonly number[]): string {
    const name = `ints_${values.join('_')}`;
    const bytes = Buffer.alloc(8 * values.length);
    values.forEach((value, at) => bytes.writeBigInt64LE(BigInt(value), 8 * at));
    return this.#constant(name, [int(1, values.length), int(2, TYPES.int64), field(8, name), field(9, bytes)]);
  }

  /** Adds a node with one output, whose name is chosen if `output` is absent. */
  node(
    operator: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output = `${operator}_${this.#nodes.length}`,
  ): string {
    this.operation(operator, inputs, attributes, [output]);
    return output;
  }

  /** Adds a node with these outputs. Without a `domain`, its operator is one of ONNX. */
  operation(
    operator: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly string[],
    domain?: string,
  ): void {
    if (domain !== undefined) this.#domains.add(domain);
    this.#nodes.push(
      message(1, [
        ...inputs.map((input) => field(1, input)),
        ...outputs.map((output) => field(2, output)),
        field(3, `node_${outputs[0]}`),
        field(4, operator),
        ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
        ...(domain === undefined ? [] : [field(7, domain)]),
      ]),
    );
  }

  /** Returns the model in pieces, with texts about the model. */
  finish(
    inputs: readonly OnnxPort[],
    outputs: readonly OnnxPort[],
    metadata: Readonly<Record<string, string | number>>,
  ): Buffer[] {
    const graph = [
      ...this.#nodes,
      field(2, this.#name),
      ...this.#constants.values(),
      ...inputs.map((input) => valueInfo(11, ...input)),
      ...outputs.map((output) => valueInfo(12, ...output)),
    ];
    const length = graph.reduce((sum, part) => sum + part.length, 0);
    return [
      int(1, IR_VERSION),
      field(2, 'aana-host'),
      Buffer.concat([varint(7 * 8 + 2), varint(length)]),
      ...graph,
      message(8, [int(2, OPSET)]),
      ...[...this.#domains].map((domain) => message(8, [field(1, domain), int(2, 1)])),
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

function valueInfo(number: number, name: string, shape: readonly OnnxAxis[], type: OnnxType = 'float32'): Buffer {
  const axes = shape.map((axis) => message(1, [typeof axis === 'number' ? int(1, axis) : field(2, axis)]));
  return message(number, [field(1, name), message(2, [message(1, [int(1, TYPES[type]), message(2, axes)])])]);
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
