import { BLOCK_SIZES } from './block-sizes.ts';
import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

/** The magic number of whisper.cpp's files. */
export const GGML_MAGIC = 0x67676d6c;

export interface GgmlTensor {
  readonly name: string;
  /** Lengths of the axes in ggml's order: the fastest axis first. */
  readonly dims: readonly number[];
  readonly type: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface GgmlHeader {
  /** 1000 × the version of the quantization, plus the type of most weights. */
  readonly fileType: number;
  /** Offset at which the mel filters and the vocabulary end and the tensors begin. */
  readonly end: number;
}

const HEADER_BYTES = 48;
const FILE_TYPE_AT = 44;

/** Reads the header of a Whisper ggml file. Throws `ModelFormatError` for any other file. */
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

/** Yields the tensors in the file's order. Throws `ModelFormatError` for a damaged or truncated tensor. */
export async function* readGgmlTensors(file: PartedFile, begin: number): AsyncGenerator<GgmlTensor, void, undefined> {
  for (let at = begin; at < file.bytes;) {
    const head = await file.readField(at, 12);
    const rank = head.readInt32LE(0);
    const nameBytes = head.readInt32LE(4);
    const type = head.readInt32LE(8);
    const block = BLOCK_SIZES[type];
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
        `the file is truncated: ${name} ends at byte ${offset + bytes}, but the file has ${file.bytes} bytes`,
      );
    }
    yield { name, dims, type, offset, bytes };
    at = offset + bytes;
  }
}
