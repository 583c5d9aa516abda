import { formatError } from './format-error.ts';

export interface OnnxTensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

interface Field {
  readonly number: number;
  /** The value of a varint field. */
  readonly value: number;
  /** The content of a length-delimited field. */
  readonly content: Buffer;
}

const EMPTY = Buffer.alloc(0);
const FLOAT = 1;
/** Field numbers of ONNX's protobuf messages. */
const MODEL = { graph: 7 };
const GRAPH = { node: 1, initializer: 5 };
const NODE = { output: 2, opType: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, tensor: 5, graph: 6 };
const TENSOR = { dims: 1, type: 2, floats: 4, name: 8, raw: 9 };

/**
 * Returns the float tensors of an ONNX model: initializers and constants, also of nested graphs. The order is that of a
 * walk that takes the `then` branch of a condition first. Throws `ModelFormatError` for any other file.
 */
export function readOnnxTensors(data: Buffer, file: string): [name: string, tensor: OnnxTensor][] {
  const tensors: [string, OnnxTensor][] = [];
  try {
    for (const field of fieldsOf(data)) if (field.number === MODEL.graph) walkGraph(field.content, tensors);
  } catch (error) {
    throw formatError(file, 'it is truncated or not an ONNX model', error);
  }
  if (tensors.length === 0) throw formatError(file, 'it is not an ONNX model with weights');
  return tensors;
}

function walkGraph(graph: Buffer, tensors: [string, OnnxTensor][]): void {
  for (const field of fieldsOf(graph)) {
    if (field.number === GRAPH.initializer) addTensor('', field.content, tensors);
    else if (field.number === GRAPH.node) walkNode(field.content, tensors);
  }
}

function walkNode(node: Buffer, tensors: [string, OnnxTensor][]): void {
  let opType = '';
  let output = '';
  const attributes: { name: string; tensor?: Buffer; graph?: Buffer }[] = [];
  for (const field of fieldsOf(node)) {
    if (field.number === NODE.opType) opType = field.content.toString();
    else if (field.number === NODE.output) output = field.content.toString();
    else if (field.number === NODE.attribute) attributes.push(readAttribute(field.content));
  }
  const constant = opType === 'Constant' ? attributes.find(({ name }) => name === 'value')?.tensor : undefined;
  if (constant) addTensor(output, constant, tensors);
  const branches = attributes.filter(({ graph }) => graph !== undefined);
  branches.sort((left, right) => Number(right.name === 'then_branch') - Number(left.name === 'then_branch'));
  for (const { graph } of branches) if (graph) walkGraph(graph, tensors);
}

function readAttribute(attribute: Buffer): { name: string; tensor?: Buffer; graph?: Buffer } {
  const found: { name: string; tensor?: Buffer; graph?: Buffer } = { name: '' };
  for (const field of fieldsOf(attribute)) {
    if (field.number === ATTRIBUTE.name) found.name = field.content.toString();
    else if (field.number === ATTRIBUTE.tensor) found.tensor = field.content;
    else if (field.number === ATTRIBUTE.graph) found.graph = field.content;
  }
  return found;
}

function addTensor(givenName: string, tensor: Buffer, tensors: [string, OnnxTensor][]): void {
  let name = givenName;
  let type = 0;
  const dims: number[] = [];
  let raw: Buffer | undefined;
  let packed: Buffer | undefined;
  for (const field of fieldsOf(tensor)) {
    if (field.number === TENSOR.dims)
      dims.push(...(field.content.length > 0 ? varintsOf(field.content) : [field.value]));
    else if (field.number === TENSOR.type) type = field.value;
    else if (field.number === TENSOR.name) name ||= field.content.toString();
    else if (field.number === TENSOR.raw) raw = field.content;
    else if (field.number === TENSOR.floats) packed = field.content;
  }
  if (type !== FLOAT) return;
  const bytes = raw ?? packed ?? EMPTY;
  const count = dims.reduce((product, length) => product * length, 1);
  if (bytes.length !== 4 * count) throw new RangeError(`${name} has ${bytes.length} bytes instead of ${4 * count}`);
  tensors.push([
    name,
    { dims, data: Float32Array.from({ length: count }, (_, index) => bytes.readFloatLE(4 * index)) },
  ]);
}

function* fieldsOf(message: Buffer): Generator<Field, void, undefined> {
  for (let at = 0; at < message.length;) {
    const key = readVarint(message, at);
    at = key.end;
    const number = Math.floor(key.value / 8);
    switch (key.value % 8) {
      case 0: {
        const { value, end } = readVarint(message, at);
        at = end;
        yield { number, value, content: EMPTY };
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const length = readVarint(message, at);
        const end = length.end + length.value;
        if (end > message.length) throw new RangeError('a field is longer than its message');
        yield { number, value: 0, content: message.subarray(length.end, end) };
        at = end;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw new RangeError('an unknown wire type');
    }
  }
}

function varintsOf(packed: Buffer): number[] {
  const values: number[] = [];
  for (let at = 0; at < packed.length;) {
    const { value, end } = readVarint(packed, at);
    values.push(value);
    at = end;
  }
  return values;
}

/** Reads a varint. It is exact up to 2^53; lengths and dimensions are smaller. */
function readVarint(data: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  for (let at = start; at < start + 10; at += 1) {
    const byte = data.readUInt8(at); // throws past the end
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: at + 1 };
    scale *= 128;
  }
  throw new RangeError('a number that does not end inside its field');
}
