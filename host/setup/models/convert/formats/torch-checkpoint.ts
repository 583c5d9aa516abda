import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import yauzl from 'yauzl';
import { formatError } from './format-error.ts';
import { type PickledObject, type PickledReference, readPickle } from './pickle.ts';

/** A 32-bit float tensor in row-major order. */
export interface TorchTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export type TorchWeights = ReadonlyMap<string, TorchTensor>;

const PICKLE = /^([^/]+\/)data\.pkl$/;
/** Most numbers of one tensor. It bounds the memory of a damaged file. */
const MAX_NUMBERS = 1 << 28;

/**
 * Returns the float tensors of a PyTorch checkpoint, which is a zip with a pickle and one file for each tensor. A
 * checkpoint of Lightning has them under `state_dict`. Tensors of other types are left out. No code of the checkpoint
 * runs. Throws `ModelFormatError`.
 */
export async function readTorchCheckpoint(file: string): Promise<TorchWeights> {
  const label = path.basename(file);
  try {
    const members = await readZip(await readFile(file));
    const [name = '', pickle] = [...members].find(([member]) => PICKLE.test(member)) ?? [];
    if (!pickle) throw new RangeError('it has no data.pkl');
    const root = PICKLE.exec(name)?.[1] ?? '';
    const content = readPickle(pickle);
    const state =
      content instanceof Map && content.get('state_dict') instanceof Map ? content.get('state_dict') : content;
    if (!(state instanceof Map)) throw new RangeError('it has no table of tensors');
    const weights = new Map<string, TorchTensor>();
    for (const [key, value] of state as Map<unknown, unknown>) {
      const tensor = tensorOf(value, (storage) => members.get(`${root}data/${storage}`));
      if (tensor) weights.set(String(key), tensor);
    }
    return weights;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw error;
    throw formatError(label, 'it is truncated or not a PyTorch checkpoint', error);
  }
}

/** Returns the members of a zip by name. */
async function readZip(data: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await new Promise<yauzl.ZipFile>((resolve, reject) => {
    yauzl.fromBuffer(data, { lazyEntries: true, autoClose: false }, (error, opened) =>
      opened ? resolve(opened) : reject(error ?? new Error('no zip')),
    );
  });
  const entries = await new Promise<yauzl.Entry[]>((resolve, reject) => {
    const found: yauzl.Entry[] = [];
    zip.on('error', reject);
    zip.on('end', () => resolve(found));
    zip.on('entry', (entry: yauzl.Entry) => {
      found.push(entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
  const members = new Map<string, Buffer>();
  for (const entry of entries) {
    if (entry.uncompressedSize > data.length) throw new RangeError('a member is larger than the file');
    const stream = await new Promise<Readable>((resolve, reject) => {
      zip.openReadStream(entry, (error, opened) =>
        opened ? resolve(opened) : reject(error ?? new Error('no member')),
      );
    });
    members.set(entry.fileName, await buffer(stream));
  }
  return members;
}

const isObject = (value: unknown): value is PickledObject =>
  typeof value === 'object' && value !== null && 'args' in value && 'name' in value;

/** Returns the tensor that a value of the pickle describes, or undefined if it is no tensor of 32-bit floats. */
function tensorOf(value: unknown, storage: (key: string) => Buffer | undefined): TorchTensor | undefined {
  if (!isObject(value)) return undefined;
  if (value.name === 'torch._utils._rebuild_parameter') return tensorOf(value.args[0], storage);
  if (value.name !== 'torch._utils._rebuild_tensor_v2') return undefined;
  const [reference, offset, shape, strides] = value.args;
  const id = (reference as Partial<PickledReference> | null)?.persistentId;
  if (!Array.isArray(id) || id[0] !== 'storage' || id[1] !== 'torch.FloatStorage') return undefined;
  if (!isSize(offset) || !isSizes(shape) || !isSizes(strides) || shape.length !== strides.length)
    throw new RangeError('a tensor has no shape');
  const bytes = storage(String(id[2]));
  if (!bytes) throw new RangeError(`the data of the tensor ${String(id[2])} is missing`);
  return { shape, data: gather(bytes, offset, shape, strides) };
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isSizes = (value: unknown): value is number[] => Array.isArray(value) && value.every(isSize);

/** Copies the numbers of a tensor in row-major order out of its storage, in which its axes may lie in another order. */
function gather(bytes: Buffer, offset: number, shape: readonly number[], strides: readonly number[]): Float32Array {
  const count = shape.reduce((product, length) => product * length, 1);
  if (count > MAX_NUMBERS) throw new RangeError('a tensor is too large');
  const data = new Float32Array(count);
  const index = shape.map(() => 0);
  let from = offset;
  for (let to = 0; to < count; to += 1) {
    data[to] = bytes.readFloatLE(4 * from); // throws past the end
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const [length = 1, stride = 0] = [shape[axis], strides[axis]];
      from += stride;
      const next = (index[axis] ?? 0) + 1;
      index[axis] = next < length ? next : 0;
      if (next < length) break;
      from -= stride * length;
    }
  }
  return data;
}
