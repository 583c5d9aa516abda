/** Texts whose characters are bytes. Functions of texts are native in the interpreter, and JavaScript takes longer. */
import { fromBase64, toBase64 } from '../../base64.ts';
import { decodeUtf8 } from '../../utf8.ts';

declare const atob: (base64: string) => string;
declare const btoa: (bytes: string) => string;

export const binaryOf = (bytes: Uint8Array): string => atob(toBase64(bytes));
export const bytesOfBinary = (binary: string): Uint8Array => fromBase64(btoa(binary));
export const textOfBinary = (binary: string): string => decodeUtf8(bytesOfBinary(binary));

/** Decodes escapes such as `%20`. What is no escape stays. */
export const unescaped = (binary: string): string => unescape(binary.replaceAll('%u', '%25u'));
