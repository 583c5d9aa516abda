import { DamagedGguf, GgufReader } from '../../../../base/core/model-files/gguf.ts';
import { BLOCK_SIZES, type BlockSize } from './block-sizes.ts';
import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

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

/**
 * Reads the metadata and the table of tensors. Throws `ModelFormatError` when a tensor does not lie inside the file.
 */
export async function checkGguf(file: PartedFile): Promise<GgufPart> {
  try {
    return await check(file);
  } catch (error) {
    if (error instanceof DamagedGguf) throw formatError(file.label, error.message);
    throw error;
  }
}

async function check(file: PartedFile): Promise<GgufPart> {
  const reader = new GgufReader(file);
  const { values, tensorCount } = await reader.metadata();
  const integer = (key: string): number | undefined => {
    const value = values.get(key);
    return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
  };
  const alignment = integer('general.alignment') || 32;
  let end = 0;
  for (let index = 0; index < tensorCount; index += 1) {
    const { weights, type, offset } = await reader.tensor();
    const block = BLOCKS[type];
    end = Math.max(end, offset + (block ? (weights / block[1]) * block[0] : 1));
  }
  const needed = Math.ceil(reader.at / alignment) * alignment + end;
  if (tensorCount > 0 && needed > file.bytes)
    throw new DamagedGguf(`the file is truncated: its tensors need ${needed} bytes, but it has ${file.bytes}`);
  return {
    part: (integer('split.no') ?? 0) + 1,
    parts: integer('split.count') || 1,
    tensors: tensorCount,
    allTensors: integer('split.tensors.count'),
    weightType: integer('general.file_type'),
  };
}
