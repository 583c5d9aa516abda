// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/uploads@0.1.0' {
  /**
   * Returns the facts about the file in a field of the form. Fails with `UploadedFileNotFound`.
   */
  export function info(field: string): FileInfo;
  /**
   * Returns the bytes from `offset` on, which is a whole number: `length` of them, and at most 262,144. Only the end
   * of the file gives fewer.
   */
  export function read(field: string, offset: number, length: number): Base64;
  /**
   * Returns the same bytes read as UTF-8, without a character that the end of the piece cuts, and without a byte order
   * mark at the beginning of the file. Bytes that are no UTF-8 become U+FFFD.
   */
  export function readText(field: string, offset: number, length: number): TextPiece;
  export type Base64 = import('aana:host/types@0.1.0').Base64;
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * Facts about a file. Its name and its media type are what the client says.
   */
  export interface FileInfo {
    /**
     * The file name, without folders.
     */
    name?: string,
    mediaType?: string,
    /**
     * Bytes: a whole number.
     */
    size: number,
  }
  /**
   * A piece of a file as text.
   */
  export interface TextPiece {
    text: string,
    /**
     * The number of bytes that it was. The next piece begins after them.
     */
    length: number,
  }
}
