import { splitText, splitTranscript, type TokenCounter } from '../../../base/splitting/index.ts';
import { fail } from '../../../base/core/errors.ts';
import type { StoredFiles } from '../../../data/files/index.ts';
import { type DocumentText, readDocument } from '../../../io/documents/index.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';

/** What files may be, and the folder for their copies. */
export type DocumentLimits = Parameters<typeof withTemporaryFile>[1] & {
  /** Of a file, and of its text. */
  readonly maxBytes: number;
};

/** How a text is divided. */
export interface Chunking {
  readonly maxTokens: number;
  readonly overlapTokens: number;
  /** Undefined for an estimate. */
  readonly countTokens: TokenCounter | undefined;
}

/**
 * Returns the texts of the chunks of a stored file, at least one and always the same ones. Throws `UnreadableDocument`,
 * `UnsupportedDocument` and `UploadedFileLost`.
 */
export async function textsOfFile(
  files: StoredFiles,
  { filename: name, ...file }: { readonly id: string; readonly bytes: number; readonly filename: string },
  { maxBytes, ...folders }: DocumentLimits,
  chunking: Chunking,
  signal: AbortSignal,
): Promise<string[]> {
  if (file.bytes > maxBytes)
    throw fail(
      'UnreadableDocument',
      `the file ${JSON.stringify(name.slice(0, 100))} has ${file.bytes} bytes, and at most ${maxBytes} are read`,
      { data: { name } },
    );
  const bytes = await files.open(file.id, signal);
  const document = await withTemporaryFile(bytes, folders, (path) =>
    readDocument(path, { name, maxBytes, signal }),
  ).finally(() => bytes.destroy());
  try {
    return await textsOfDocument(document, chunking);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw fail(
      'UnreadableDocument',
      `the file ${JSON.stringify(name.slice(0, 100))} cannot be divided into chunks: ${error.message}`,
      { data: { name }, cause: error },
    );
  }
}

async function textsOfDocument(
  document: DocumentText,
  { maxTokens, overlapTokens, countTokens }: Chunking,
): Promise<string[]> {
  const chunks =
    document.kind === 'transcript'
      ? await splitTranscript(document.segments, { maxTokens, countTokens })
      : await splitText(document.text, { maxTokens, overlapTokens, countTokens, kind: document.kind });
  return chunks.map(({ text }) => text);
}
