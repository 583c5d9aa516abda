import { BLOCK_SIZES, type BlockSize } from './block-sizes.ts';
import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

export const GGUF_MAGIC = 'GGUF';

/** Sizes of blocks by ggml's number of the type. For a type that is not listed, only the tensor's offset is checked. */
const BLOCKS: Readonly<Record<number, BlockSize>> = {
  ...BLOCK_SIZES,
  10: [84, 256],
  11: [110, 256],
  12: [144, 256],
  13: [176, 256],
  14: [210, 256],
  30: [2, 1],
};
/** Bytes of the fixed-size metadata values, by type number. 8 is a string, 9 an array. */
const VALUE_BYTES: readonly number[] = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
/** Bytes of the integers of up to 32 bits, by type number. */
const INTEGER_BYTES: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4 };
const STRING = 8;
const ARRAY = 9;
const MAX_COUNT = 10_000_000;

/** The place of a file in a model that is split into several files. A model of one file has 1 part. */
export interface GgufPart {
  /** Number of the part, from 1. */
  readonly part: number;
  readonly parts: number;
  /** Tensors in this file. */
  readonly tensors: number;
  /** Tensors in all files, if the file tells. */
  readonly allTensors: number | undefined;
  /** Number of the type of most weights, if the file tells. */
  readonly weightType: number | undefined;
}

const KEPT = new Set(['general.alignment', 'general.file_type', 'split.no', 'split.count', 'split.tensors.count']);

/**
 * Reads the metadata and the table of tensors. Throws `ModelFormatError` when a tensor does not lie inside the file.
 */
export async function checkGguf(file: PartedFile): Promise<GgufPart> {
  const reader = new Reader(file);
  reader.at = 4;
  const version = await reader.uint32();
  if (version !== 2 && version !== 3)
    throw formatError(file.label, `GGUF version ${version} is not supported; versions 2 and 3 are`);
  const tensorCount = await reader.count();
  const pairCount = await reader.count();
  const kept = new Map<string, number>();
  for (let index = 0; index < pairCount; index += 1) {
    const key = await reader.text();
    const type = await reader.uint32();
    const bytes = INTEGER_BYTES[type];
    if (bytes !== undefined && KEPT.has(key)) kept.set(key, await reader.integer(bytes));
    else await reader.skipValue(type, 0);
  }
  const alignment = kept.get('general.alignment') || 32;
  let end = 0;
  for (let index = 0; index < tensorCount; index += 1) {
    await reader.text();
    const rank = await reader.uint32();
    if (rank > 4) throw formatError(file.label, 'its table of tensors is damaged');
    let weights = 1;
    for (let axis = 0; axis < rank; axis += 1) weights *= await reader.count(Number.MAX_SAFE_INTEGER);
    const block = BLOCKS[await reader.uint32()];
    const offset = await reader.count(Number.MAX_SAFE_INTEGER);
    end = Math.max(end, offset + (block ? (weights / block[1]) * block[0] : 1));
  }
  const needed = Math.ceil(reader.at / alignment) * alignment + end;
  if (tensorCount > 0 && needed > file.bytes) {
    throw formatError(file.label, `the file is truncated: its tensors need ${needed} bytes, but it has ${file.bytes}`);
  }
  return {
    part: (kept.get('split.no') ?? 0) + 1,
    parts: kept.get('split.count') || 1,
    tensors: tensorCount,
    allTensors: kept.get('split.tensors.count'),
    weightType: kept.get('general.file_type'),
  };
}

class Reader {
  at = 0;
  readonly #file: PartedFile;

  constructor(file: PartedFile) {
    this.#file = file;
  }

  async uint32(): Promise<number> {
    return (await this.#take(4)).readUInt32LE(0);
  }

  async integer(bytes: number): Promise<number> {
    return (await this.#take(bytes)).readUIntLE(0, bytes);
  }

  async count(limit = MAX_COUNT): Promise<number> {
    const value = Number((await this.#take(8)).readBigUInt64LE(0));
    if (value > limit) throw formatError(this.#file.label, 'a count in its header is damaged');
    return value;
  }

  async text(): Promise<string> {
    return (await this.#take(await this.count())).toString('utf8');
  }

  async skipValue(type: number, depth: number): Promise<void> {
    if (type === STRING) {
      const length = await this.count(); // before the addition, because it moves `at`
      this.at += length;
    } else if (type === ARRAY && depth < 4) {
      const itemType = await this.uint32();
      const items = await this.count();
      const itemBytes = VALUE_BYTES[itemType] ?? 0;
      if (itemBytes > 0) this.at += items * itemBytes;
      else for (let index = 0; index < items; index += 1) await this.skipValue(itemType, depth + 1);
    } else {
      const bytes = VALUE_BYTES[type] ?? 0;
      if (bytes === 0) throw formatError(this.#file.label, 'its metadata is damaged');
      this.at += bytes;
    }
    if (this.at > this.#file.bytes) throw formatError(this.#file.label, 'the file is truncated inside its metadata');
  }

  async #take(length: number): Promise<Buffer> {
    const field = await this.#file.readField(this.at, length);
    this.at += length;
    return field;
  }
}
