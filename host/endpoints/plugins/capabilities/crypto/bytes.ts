import { bytesOfBase64 } from '../scope/base64.ts';
import { refuse } from './limits.ts';

/** Decodes base64 with padding, of at most so many bytes. */
export function fromBase64(text: string, what: string, most: number): Buffer {
  if (Buffer.byteLength(text, 'base64') > most)
    throw refuse('OperationError', `${what} is over the limit of ${most} bytes`);
  return bytesOfBase64(text, what);
}

export const toBase64 = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64');
