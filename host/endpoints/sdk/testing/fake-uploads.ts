import { HostError, toErrorRecord } from '../host-error.ts';
import { toBase64 } from '../guest/base64.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';
import type { Uploads } from '../../../../wit/generated/world/uploads.ts';

/** An uploaded file. */
export interface FakeFile {
  /** Text is sent as UTF-8. */
  readonly content: Uint8Array | string;
  /** The file name. */
  readonly name?: string;
  /** The media type. */
  readonly type?: string;
}

/** The host's limit of one piece. */
const maxPieceBytes = 256 * 1024;

export function fakeUploads(files: Readonly<Record<string, FakeFile>>): Uploads {
  const known = new Map<string, Uint8Array>();
  const bytesIn = (field: string): Uint8Array => {
    const before = known.get(field);
    if (before) return before;
    const { content } = fileIn(files, field);
    const bytes = typeof content === 'string' ? encodeUtf8(content) : content;
    known.set(field, bytes);
    return bytes;
  };
  return {
    info: (field) => {
      const { name, type } = fileIn(files, field);
      return { name, mediaType: type, size: bytesIn(field).length };
    },
    read: (field, offset, length) =>
      toBase64(bytesIn(field).subarray(offset, offset + Math.min(length, maxPieceBytes))),
    readText: (field, offset, length) => {
      const bytes = bytesIn(field);
      const most = Math.min(bytes.length, offset + Math.min(length, maxPieceBytes));
      let end = most;
      while (end < bytes.length && end > offset + 1 && end > most - 3 && isFurther(bytes[end])) end--;
      const text = decodeUtf8(bytes.subarray(offset, end));
      return { text: offset === 0 ? text.replace(/^\ufeff/, '') : text, length: end - offset };
    },
  };
}

/** Whether a byte of UTF-8 begins no character. */
const isFurther = (byte = 0): boolean => (byte & 0xc0) === 0x80;

function fileIn(files: Readonly<Record<string, FakeFile>>, field: string): FakeFile {
  const file = files[field];
  if (file) return file;
  throw toErrorRecord(
    new HostError('UploadedFileNotFound', 'invalid-input', `the request has no file in the field "${field}"`, {
      data: { content: field },
    }),
  );
}
