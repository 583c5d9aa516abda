import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

/** "ggml" as whisper.cpp writes it. */
export const GGML_MAGIC = 0x67676d6c;

export interface GgmlTensor {
  readonly name: string;
  /** ggml's order: the fastest axis first. */
  readonly dims: readonly number[];
  readonly type: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface GgmlHeader {
  /** 1000 × the version of the quantisation + the type of most weights. */
  readonly fileType: number;
  /** Where the mel filters and vocabulary end and the tensors begin. */
  readonly end: number;
}

/** Bytes and weights of a block, by ggml's type number. */
const BLOCKS: Readonly<Record<number, readonly [bytes: number, weights: number]>> = {
  0: [4, 1],
  1: [2, 1],
  2: [18, 32],
  3: [20, 32],
  6: [22, 32],
  7: [24, 32],
  8: [34, 32],
};
const HEADER_BYTES = 48;
const FILE_TYPE_AT = 44;

/** Reads past the header of a Whisper ggml file. Throws `ModelFormatError` for anything else. */
export async function readGgmlHeader(file: PartedFile): Promise<GgmlHeader> {
  const header = file.bytes < HEADER_BYTES ? undefined : await file.readField(0, HEADER_BYTES);
  if (header?.readUInt32LE(0) !== GGML_MAGIC) throw formatError(file.label, 'this is not a ggml file of whisper.cpp');
  const fileType = header.readInt32LE(FILE_TYPE_AT);
  const mel = await file.readField(HEADER_BYTES, 8);
  let at = HEADER_BYTES + 8 + 4 * mel.readInt32LE(0) * mel.readInt32LE(4);
  const count = (await file.readField(at, 4)).readInt32LE(0);
  at += 4;
  if (count < 0 || count > 1_000_000) throw formatError(file.label, 'its vocabulary is damaged');
  for (let index = 0; index < count; index += 1) at += 4 + (await file.readField(at, 4)).readUInt32LE(0);
  return { fileType, end: at };
}

/** The tensors in the file's order. Throws `ModelFormatError` when one is cut off. */
export async function* readGgmlTensors(file: PartedFile, begin: number): AsyncGenerator<GgmlTensor, void, undefined> {
  for (let at = begin; at < file.bytes;) {
    const head = await file.readField(at, 12);
    const rank = head.readInt32LE(0);
    const nameBytes = head.readInt32LE(4);
    const type = head.readInt32LE(8);
    const block = BLOCKS[type];
    if (rank < 1 || rank > 4 || nameBytes < 1 || nameBytes > 256 || !block)
      throw formatError(file.label, `the tensor at byte ${at} is damaged`);
    const fields = await file.readField(at + 12, 4 * rank + nameBytes);
    const dims = Array.from({ length: rank }, (_, axis) => fields.readInt32LE(4 * axis));
    const name = fields.toString('utf8', 4 * rank);
    const weights = dims.reduce((product, length) => product * length, 1);
    const offset = at + 12 + 4 * rank + nameBytes;
    const bytes = (weights / block[1]) * block[0];
    if (offset + bytes > file.bytes) {
      throw formatError(
        file.label,
        `the file is truncated: ${name} ends at byte ${offset + bytes}, the file at ${file.bytes}`,
      );
    }
    yield { name, dims, type, offset, bytes };
    at = offset + bytes;
  }
}
