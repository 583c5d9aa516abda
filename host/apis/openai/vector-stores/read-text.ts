import { buffer } from 'node:stream/consumers';
import type { StoredFiles } from '../../../data/files/index.ts';
import type { VectorStoreFileErrorCode } from '../../../data/storage/index.ts';
import { isPdf, readPdf } from '../../../io/documents/index.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import { textOf } from '../files/file-input.ts';

/** A file that cannot be read. The message is a predicate, such as `has no text`. */
export class UnreadableFile extends Error {
  readonly code: VectorStoreFileErrorCode;

  constructor(code: VectorStoreFileErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What files may be, and the folder for their copies. */
export type DocumentLimits = Parameters<typeof withTemporaryFile>[1] & {
  /** Of a file, and of its text. */
  readonly maxBytes: number;
};

export interface ReadText {
  readonly text: string;
  readonly kind: 'text' | 'markdown';
}

/** Returns the text of a stored file. Throws {@link UnreadableFile}. */
export async function readText(
  files: StoredFiles,
  file: { readonly id: string; readonly bytes: number; readonly filename: string },
  { maxBytes, ...folders }: DocumentLimits,
  signal: AbortSignal,
): Promise<ReadText> {
  if (file.bytes > maxBytes)
    throw new UnreadableFile('invalid_file', `has ${file.bytes} bytes, and files of up to ${maxBytes} are read`);
  const bytes = await buffer(await files.open(file));
  if (isPdf(bytes)) {
    const reading = await withTemporaryFile(bytes, folders, (path) => readPdf(path, maxBytes, signal));
    if ('text' in reading) return { text: reading.text, kind: 'text' };
    throw new UnreadableFile('invalid_file', `is a PDF that ${reading.unreadable}`);
  }
  const text = textOf(bytes);
  if (text === undefined) throw new UnreadableFile('unsupported_file', 'is neither text in UTF-8 nor PDF');
  return { text, kind: /\.(md|markdown)$/i.test(file.filename) ? 'markdown' : 'text' };
}
