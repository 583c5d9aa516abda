// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';

/** Facts about a file. Its name and its media type are what the client says. */
export interface FileInfo {
  /** The file name, without folders. */
  readonly name?: string | undefined;
  readonly mediaType?: string | undefined;
  /** Bytes: a whole number. */
  readonly size: number;
}

/** A piece of a file as text. */
export interface TextPiece {
  readonly text: string;
  /** The number of bytes that it was. The next piece begins after them. */
  readonly length: number;
}

/** The interface `uploads` as a guest sees it. A function that fails throws the record `error`. */
export interface Uploads {
  /** Returns the facts about the file in a field of the form. Fails with `UploadedFileNotFound`. */
  info(field: string): FileInfo;
  /**
   * Returns the bytes from `offset` on, which is a whole number: `length` of them, and at most 262,144. Only the end
   * of the file gives fewer.
   */
  read(field: string, offset: number, length: number): Base64;
  /**
   * Returns the same bytes read as UTF-8, without a character that the end of the piece cuts, and without a byte order
   * mark at the beginning of the file. Bytes that are no UTF-8 become U+FFFD.
   */
  readText(field: string, offset: number, length: number): TextPiece;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface UploadsCalls {
  'uploads.info': { readonly args: readonly [field: string]; readonly value: FileInfo };
  'uploads.read': { readonly args: readonly [field: string, offset: number, length: number]; readonly value: Base64 };
  'uploads.read-text': { readonly args: readonly [field: string, offset: number, length: number];
    readonly value: TextPiece };
}
