import { open } from 'node:fs/promises';
import { fail } from '../../../base/core/errors.ts';
import type { UploadsCalls } from '../../../../wit/generated/world/uploads.ts';
import type { UploadedFile } from '../ports.ts';
import { computingCost } from './scope/computing-cost.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

const maxPieceBytes = 256 * 1024;
const byteOrderMark = '\ufeff';

/** The uploaded files of the request. Every plugin can read them. */
export const uploadsCalls: CallsOf<keyof UploadsCalls> = {
  async 'uploads.info'(scope, field) {
    const { filename, mimeType, bytes } = uploadIn(scope, field);
    return { name: filename, mediaType: mimeType, size: bytes };
  },
  async 'uploads.read'(scope, field, offset, length) {
    return readPiece(scope, field, { offset, length }, (piece) => piece.toString('base64'));
  },
  async 'uploads.read-text'(scope, field, offset, length) {
    const { bytes } = uploadIn(scope, field);
    return readPiece(scope, field, { offset, length }, (piece) => {
      const whole = offset + piece.length < bytes ? piece.subarray(0, endOfCharacters(piece)) : piece;
      const text = whole.toString('utf8');
      return { text: offset === 0 && text.startsWith(byteOrderMark) ? text.slice(1) : text, length: whole.length };
    });
  },
};

function uploadIn({ files }: CapabilityScope, name: string): UploadedFile {
  const file = files.get(name);
  if (file) return file;
  const field = name.slice(0, 256);
  throw fail('UploadedFileNotFound', `the request has no file in the field ${JSON.stringify(field)}`, {
    data: { content: field },
  });
}

/** Reads a piece and returns what `use` makes of it. Until then it counts as held, because a guest can start many. */
async function readPiece<T>(
  scope: CapabilityScope,
  field: string,
  { offset, length }: { readonly offset: number; readonly length: number },
  use: (piece: Buffer) => T,
): Promise<T> {
  const { path, bytes } = uploadIn(scope, field);
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw fail('InvalidArguments', `a piece of a file begins at a whole number of bytes, not at ${offset}`);
  const wanted = Math.max(0, Math.min(length, maxPieceBytes, bytes - offset));
  scope.held.take(wanted);
  try {
    const piece = Buffer.alloc(wanted);
    scope.charge(computingCost.piece(piece.length));
    if (piece.length === 0) return use(piece);
    // Opened for each piece, so that a guest holds no descriptors of the host.
    await using file = await open(path);
    const { bytesRead } = await file.read(piece, 0, piece.length, offset);
    return use(piece.subarray(0, bytesRead));
  } finally {
    scope.held.give(wanted);
  }
}

/**
 * Returns where the last character of UTF-8 ends that is not cut. Returns the length where there is no such character.
 */
function endOfCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue; // a further byte of a character
    const needed = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return needed > back && back < bytes.length ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
