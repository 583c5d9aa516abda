import { decodedBase64 } from '../scope/base64.ts';
import { refuse } from './limits.ts';

/** Decodes base64 with padding, of at most so many bytes. */
export function fromBase64(text: string, what: string, most: number): Buffer {
  const bytes = text.length <= 4 * Math.ceil(most / 3) && decodedBase64(text);
  if (bytes === undefined) throw new TypeError(`${what} is no base64 with padding`);
  if (!bytes || bytes.length > most) throw refuse('OperationError', `${what} is over the limit of ${most} bytes`);
  return bytes;
}

export const toBase64 = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64');
