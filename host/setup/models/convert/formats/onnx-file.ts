import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

/** Field numbers of ONNX's model. */
const IR_VERSION = 1;
const GRAPH = 7;

/** Most bytes of a number of protobuf. */
const MAX_VARINT = 10;
/** Most fields of a model at the top level; real ones have fewer than a hundred. */
const MAX_FIELDS = 10_000;

/**
 * Throws `ModelFormatError` unless the file has the fields of an ONNX model and ends with the last of them. Reads only
 * the headers of the fields, so it is fast.
 */
export async function checkOnnx(file: PartedFile): Promise<void> {
  const found = new Set<number>();
  let fields = 0;
  for (let at = 0; at < file.bytes;) {
    if ((fields += 1) > MAX_FIELDS) throw formatError(file.label, 'it is not an ONNX model');
    const key = await readVarint(file, at);
    found.add(Math.floor(key.value / 8));
    at = key.end;
    switch (key.value % 8) {
      case 0:
        at = (await readVarint(file, at)).end;
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = await readVarint(file, at);
        at = length.end + length.value;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw formatError(file.label, 'it is not an ONNX model');
    }
    if (at > file.bytes)
      throw formatError(
        file.label,
        `it is truncated or not an ONNX model: ${at} bytes are needed, but it has ${file.bytes}`,
      );
  }
  if (!found.has(IR_VERSION) || !found.has(GRAPH)) throw formatError(file.label, 'it is not an ONNX model');
}

async function readVarint(file: PartedFile, start: number): Promise<{ value: number; end: number }> {
  const bytes = await file.readField(start, Math.min(MAX_VARINT, file.bytes - start));
  let value = 0;
  for (const [index, byte] of bytes.entries()) {
    value += (byte & 0x7f) * 128 ** index;
    if (byte < 0x80) return { value, end: start + index + 1 };
  }
  throw formatError(file.label, 'it is truncated or not an ONNX model');
}
