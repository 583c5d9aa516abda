/**
 * The products of a vector with many others, as WebAssembly with vector instructions. The machine code is written here,
 * because a compiler for one function would be a larger dependency than the function.
 */

/** Numbers that a row is filled up to, because the function multiplies so many at once. */
export const LANES = 16;

/** Computes the product of the vector at `query` with each row from `from` up to `to`, and writes it to `into`. */
export type Products = (query: number, from: number, to: number, rowBytes: number, into: number) => void;

/** Returns the function for a memory. Its parameters are addresses; those of vectors are multiples of 16. */
export function productsIn(memory: WebAssembly.Memory): Products {
  return new WebAssembly.Instance(MODULE, { host: { memory } }).exports['products'] as Products;
}

/** Most pages of 64 KiB of a memory. */
export const MOST_PAGES = 65_536;

const I32 = 0x7f;
const V128 = 0x7b;

const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
const list = (items: readonly (readonly number[])[]): number[] => [...unsigned(items.length), ...items.flat()];
const sized = (bytes: readonly number[]): number[] => [...unsigned(bytes.length), ...bytes];
const name = (text: string): number[] => sized([...new TextEncoder().encode(text)]);
const section = (id: number, content: readonly number[]): number[] => [id, ...sized(content)];

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
/** A number from 0 to 8191. The highest bit of the last seven would be a sign. */
const number = (value: number): number[] => [0x41, ...(value < 0x40 ? [value] : [(value & 0x7f) | 0x80, value >>> 7])];
const simd = (code: number): number[] => [0xfd, ...unsigned(code)];
const loadVector = (offset: number): number[] => [...simd(0x00), 4, ...unsigned(offset)];
const ZEROS = [...simd(0x0c), ...Array.from({ length: 16 }, () => 0)];
const ADD_VECTORS = simd(0xe4);
const MULTIPLY_VECTORS = simd(0xe6);
const lane = (index: number): number[] => [...simd(0x1f), index];
const ADD = 0x6a;
const ADD_FLOATS = 0x92;
const LESS = 0x49;
const STORE_FLOAT = [0x38, 2, 0];
const LOOP = [0x03, 0x40];
const REPEAT_IF = [0x0d, 0];
const END = 0x0b;

/** The parameters and the other variables. */
const [QUERY, ROW, TO, ROW_BYTES, INTO, AT, ROW_END] = [0, 1, 2, 3, 4, 5, 6] as const;
/** Four sums, because the processor adds to one of them while it waits for another. */
const SUMS = [7, 8, 9, 10];
const VECTOR_BYTES = 16;

const advance = (local: number, bytes: number): number[] => [...get(local), ...number(bytes), ADD, ...set(local)];

const CODE = [
  ...LOOP,
  ...[...get(QUERY), ...set(AT), ...get(ROW), ...get(ROW_BYTES), ADD, ...set(ROW_END)],
  ...SUMS.flatMap((sum) => [...ZEROS, ...set(sum)]),
  ...LOOP,
  ...SUMS.flatMap((sum, n) => [
    ...get(sum),
    ...[...get(AT), ...loadVector(n * VECTOR_BYTES), ...get(ROW), ...loadVector(n * VECTOR_BYTES)],
    ...[...MULTIPLY_VECTORS, ...ADD_VECTORS, ...set(sum)],
  ]),
  ...[...advance(AT, SUMS.length * VECTOR_BYTES), ...advance(ROW, SUMS.length * VECTOR_BYTES)],
  ...[...get(ROW), ...get(ROW_END), LESS, ...REPEAT_IF],
  END,
  ...SUMS.flatMap((sum, n) => [...get(sum), ...(n === 0 ? [] : ADD_VECTORS)]),
  ...set(SUMS[0]!),
  ...get(INTO),
  ...[0, 1, 2, 3].flatMap((n) => [...get(SUMS[0]!), ...lane(n), ...(n === 0 ? [] : [ADD_FLOATS])]),
  ...STORE_FLOAT,
  ...advance(INTO, 4),
  ...[...get(ROW), ...get(TO), LESS, ...REPEAT_IF],
  END,
  END,
];

const MODULE = new WebAssembly.Module(
  Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, ...list([[I32], [I32], [I32], [I32], [I32]]), 0]])),
    ...section(2, list([[...name('host'), ...name('memory'), 2, 1, ...unsigned(1), ...unsigned(MOST_PAGES)]])),
    ...section(3, list([[0]])),
    ...section(7, list([[...name('products'), 0, 0]])),
    ...section(
      10,
      list([
        sized([
          ...list([
            [2, I32],
            [SUMS.length, V128],
          ]),
          ...CODE,
        ]),
      ]),
    ),
  ]),
);
