import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

const TYPES = ['F32', 'F16', 'BF16'] as const;
export type SafetensorsType = (typeof TYPES)[number];

export interface SafetensorsEntry {
  readonly type: SafetensorsType;
  /** The fastest axis comes last. */
  readonly shape: readonly number[];
  /** Offset of the data in the file. */
  readonly offset: number;
  readonly bytes: number;
}

const MAX_HEADER_BYTES = 100_000_000;

/**
 * Returns the tensors of 16- and 32-bit floats in a safetensors file, in the order of its header. Throws
 * `ModelFormatError` for any other file and for a truncated one.
 */
export async function readSafetensors(file: PartedFile): Promise<ReadonlyMap<string, SafetensorsEntry>> {
  const headerBytes = file.bytes < 8 ? 0 : Number((await file.read(0, 8)).readBigUInt64LE(0));
  if (headerBytes < 2 || headerBytes > MAX_HEADER_BYTES)
    throw formatError(file.label, 'this is not a safetensors file');
  const header = parseHeader((await file.read(8, headerBytes)).toString('utf8'), file.label);
  const tensors = new Map<string, SafetensorsEntry>();
  for (const [name, value] of Object.entries(header)) {
    const type = TYPES.find((known) => known === (value as { dtype?: unknown } | null)?.dtype);
    if (type === undefined) continue;
    const tensor = toEntry(type, value as object, 8 + headerBytes);
    if (!tensor) throw formatError(file.label, `its entry for ${name} is damaged`);
    if (tensor.offset + tensor.bytes > file.bytes) {
      throw formatError(file.label, `the file is truncated: it has ${file.bytes} bytes, and ${name} lies beyond`);
    }
    tensors.set(name, tensor);
  }
  return tensors;
}

function parseHeader(text: string, label: string): object {
  try {
    const header: unknown = JSON.parse(text);
    if (typeof header === 'object' && header !== null) return header;
  } catch (error) {
    throw formatError(label, 'this is not a safetensors file', error);
  }
  throw formatError(label, 'this is not a safetensors file');
}

function toEntry(type: SafetensorsType, value: object, dataStart: number): SafetensorsEntry | undefined {
  const { shape, data_offsets: offsets } = value as Record<string, unknown>;
  if (!isCounts(shape) || !isCounts(offsets)) return undefined;
  const [begin = 0, end = 0] = offsets;
  const bytes = shape.reduce((product, length) => product * length, type === 'F32' ? 4 : 2);
  return offsets.length === 2 && end - begin === bytes ? { type, shape, offset: dataStart + begin, bytes } : undefined;
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}
