import { fail } from '../../../base/core/errors.ts';
import { wrongArgument } from '../wrong-argument.ts';
import type { OnnxData, OnnxTensor } from './runtime.ts';

/** A tensor that a graph declares as input or output. An axis of any length has a name, which may be empty. */
export interface Declared {
  readonly name: string;
  readonly type: TensorType;
  /** Empty for one value, and for any number of axes. */
  readonly shape: readonly (number | string)[];
}

export type Encoding = 'list' | 'base64';

/** A tensor in an answer. */
export interface TensorAnswer {
  readonly type: string;
  readonly shape: readonly number[];
  readonly data?: readonly (number | boolean | string)[];
  readonly base64?: string;
}

type Loc = readonly (string | number)[];

/** The arrays that hold tensors, by their types. */
const ARRAYS = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
} as const;

/** The least and the greatest number of each type of whole numbers. */
const RANGES = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32_768, 32_767],
  uint16: [0, 65_535],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
} as const;

export type TensorType = keyof typeof ARRAYS | 'string';

export const isTensorType = (type: string | undefined): type is TensorType =>
  type === 'string' || (type !== undefined && Object.hasOwn(ARRAYS, type));

/** Most axes of a tensor whose number of axes is not declared. */
const MAX_AXES = 16;
/** Texts of the numbers that JSON does not have, as in protobuf's JSON. */
const NOT_FINITE: ReadonlyMap<unknown, number> = new Map(
  [NaN, Infinity, -Infinity].map((value) => [String(value), value]),
);
/** Most values in an answer as lists. As JSON they have at most 55 MB; a message of a replica has at most 64 MiB. */
const MAX_VALUES = 2_500_000;
/** Most bytes of the tensors of an answer as base64, and of its texts. */
const MAX_BYTES = 45_000_000;

/**
 * Returns the tensor that a caller sent as nested lists, as `{ shape, data }` or as `{ shape, base64 }`. Throws
 * `ValidationError`, which names the place, for a tensor that the graph does not declare like this.
 */
export function tensorOf(declared: Declared, value: unknown, loc: Loc): OnnxTensor {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const shape = shapeOfLists(value, declared.shape.length || MAX_AXES);
    requireShape(declared, shape, loc);
    const flat: unknown[] = [];
    flatten(value, shape, flat, loc);
    return {
      type: declared.type,
      dims: shape,
      data: dataOf(declared.type, flat, (at) => [...loc, ...placeOf(at, shape)]),
    };
  }
  const { shape, data, base64, ...unknown } = value as Record<string, unknown>;
  const [extra] = Object.keys(unknown);
  if (extra !== undefined || (data === undefined) === (base64 === undefined))
    throw wrong(loc, 'is a value, nested lists, { shape, data } or { shape, base64 }');
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= 0))
    throw wrong([...loc, 'shape'], 'must be a list of whole numbers from 0');
  const dims = shape as readonly number[];
  requireShape(declared, dims, [...loc, 'shape']);
  const count = dims.reduce((product, length) => product * length, 1);
  if (base64 !== undefined)
    return { type: declared.type, dims, data: dataOfBytes(declared.type, base64, count, [...loc, 'base64']) };
  const place = [...loc, 'data'];
  if (!Array.isArray(data)) throw wrong(place, 'must be a list of values, which lie row by row');
  if (data.length !== count) throw wrong(place, `has ${data.length} values, but the shape has ${count}`);
  return { type: declared.type, dims, data: dataOf(declared.type, data, (at) => [...place, at]) };
}

/**
 * Returns a computed tensor for the answer. As a list, numbers that JSON does not have become texts: `NaN`, `Infinity`,
 * `-Infinity`, and whole numbers beyond 2^53 - 1.
 */
export function answerOf({ type, dims: shape, data }: OnnxTensor, encoding: Encoding): TensorAnswer {
  if (!ArrayBuffer.isView(data)) return { type, shape, data };
  if (encoding === 'base64' || type === 'float16') {
    const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
    return { type, shape, base64 };
  }
  if (type === 'bool') return { type, shape, data: Array.from(data as Uint8Array, (value) => value !== 0) };
  return { type, shape, data: Array.from<number | bigint, number | string>(data as Float32Array, jsonNumber) };
}

/** Throws `MessageTooLarge` if the tensors are too large for one answer. */
export function requireRoom(tensors: readonly OnnxTensor[], encoding: Encoding): void {
  let values = 0;
  let bytes = 0;
  for (const { type, data } of tensors) {
    if (ArrayBuffer.isView(data) && (encoding === 'base64' || type === 'float16')) bytes += data.byteLength;
    else values += data.length;
    if (!ArrayBuffer.isView(data)) bytes += data.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }
  if (values <= MAX_VALUES && bytes <= MAX_BYTES && values / MAX_VALUES + bytes / MAX_BYTES <= 1) return;
  throw fail(
    'MessageTooLarge',
    `the outputs have ${values > 0 ? `${values} values as lists` : `${bytes} bytes`}, but an answer has room for ` +
      `${MAX_VALUES} values as lists or ${MAX_BYTES} bytes as base64; name the wanted outputs, or send less at once`,
  );
}

const jsonNumber = (value: number | bigint): number | string => {
  const number = Number(value);
  const isExact = typeof value === 'number' ? Number.isFinite(value) : Number.isSafeInteger(number);
  return isExact ? number : String(value);
};

/** Returns the lengths of the first list on each level. */
function shapeOfLists(value: unknown, most: number): number[] {
  const shape: number[] = [];
  for (let at = value; Array.isArray(at) && shape.length <= most; at = at[0] as unknown) shape.push(at.length);
  return shape;
}

/** Adds the values of nested lists to `flat`. `place` has the indices of the list. */
function flatten(value: unknown, shape: readonly number[], flat: unknown[], loc: Loc, place: number[] = []): void {
  const length = shape[place.length];
  if (length === undefined) {
    if (Array.isArray(value)) throw wrong([...loc, ...place], 'is a list, but its neighbours are values');
    flat.push(value);
    return;
  }
  if (!Array.isArray(value) || value.length !== length)
    throw wrong([...loc, ...place], `must be a list of ${length} items like its neighbours`);
  for (let index = 0; index < length; index += 1) {
    place.push(index);
    flatten(value[index], shape, flat, loc, place);
    place.pop();
  }
}

/** Returns the indices of a value in a tensor. */
function placeOf(at: number, shape: readonly number[]): number[] {
  let rest = at;
  return shape
    .toReversed()
    .map((length) => {
      const index = rest % length;
      rest = Math.floor(rest / length);
      return index;
    })
    .toReversed();
}

function requireShape({ name, shape }: Declared, dims: readonly number[], loc: Loc): void {
  if (shape.length === 0 && dims.length <= MAX_AXES) return; // the runtime tells the two meanings of it apart
  const isWanted =
    dims.length === shape.length && shape.every((length, axis) => typeof length === 'string' || length === dims[axis]);
  if (isWanted) return;
  const wanted = shape.map((length) => length || '?').join(', ');
  throw wrong(loc, `has the shape [${dims.join(', ')}], but the model declares ${name} as [${wanted}]`);
}

function dataOf(type: TensorType, values: readonly unknown[], locOf: (at: number) => Loc): OnnxData {
  const refuse = (at: number, msg: string): never => {
    throw wrong(locOf(at), msg);
  };
  switch (type) {
    case 'string':
      return values.map((value, at) =>
        typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value)
          ? value
          : refuse(at, 'must be a text without NUL and halves of surrogate pairs'),
      );
    case 'bool':
      return Uint8Array.from(values, (value, at) =>
        typeof value === 'boolean' ? Number(value) : refuse(at, 'must be true or false'),
      );
    case 'float16':
      return values.length === 0
        ? new Uint16Array()
        : refuse(0, 'has 16-bit floats, which can only be sent as { shape, base64 }');
    case 'float32':
    case 'float64': {
      const isThere = (number: number): boolean => Number.isFinite(type === 'float32' ? Math.fround(number) : number);
      const numbers = values.map((value, at) =>
        typeof value === 'number' && isThere(value)
          ? value
          : (NOT_FINITE.get(value) ??
            refuse(at, `must be a number that ${type} can hold, "NaN", "Infinity" or "-Infinity"`)),
      );
      return type === 'float32' ? Float32Array.from(numbers) : Float64Array.from(numbers);
    }
    default:
      return integersOf(type, values, refuse);
  }
}

function integersOf(
  type: keyof typeof RANGES,
  values: readonly unknown[],
  refuse: (at: number, msg: string) => never,
): OnnxData {
  const [least, most] = RANGES[type];
  const numberOf = (value: unknown, at: number): number | bigint => {
    const isWhole = Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d{1,20}$/.test(value));
    const number = isWhole ? BigInt(value as number | string) : undefined;
    if (number !== undefined && number >= least && number <= most)
      return typeof most === 'bigint' ? number : Number(number);
    return refuse(at, `must be a whole number from ${least} to ${most}; beyond 2^53 - 1 as a text`);
  };
  const Values = ARRAYS[type] as unknown as {
    from(values: readonly unknown[], map: typeof numberOf): OnnxData;
  };
  return Values.from(values, numberOf);
}

function dataOfBytes(type: TensorType, base64: unknown, count: number, loc: Loc): OnnxData {
  if (type === 'string') throw wrong(loc, 'texts can only be sent as lists');
  if (typeof base64 !== 'string') throw wrong(loc, 'must be a text');
  const bytes = Buffer.from(base64, 'base64');
  if (Buffer.byteLength(base64, 'base64') !== bytes.length || base64.length % 4 !== 0)
    throw wrong(loc, 'must be base64'); // other characters are skipped
  const Values = ARRAYS[type];
  const size = Values.BYTES_PER_ELEMENT;
  if (bytes.length !== count * size)
    throw wrong(loc, `has ${bytes.length} bytes, but the shape needs ${count * size} bytes of ${type}`);
  if (type === 'bool' && bytes.some((byte) => byte > 1)) throw wrong(loc, 'a byte of bool must be 0 or 1');
  return new Values(new Uint8Array(bytes).buffer);
}

const wrong = (loc: Loc, msg: string): Error => wrongArgument('ValidationError', loc, msg);
