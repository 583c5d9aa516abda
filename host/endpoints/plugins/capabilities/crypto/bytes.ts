import { refuse } from './limits.ts';

/** Decodes base64 with padding, of at most so many bytes. */
export function fromBase64(text: string, what: string, most: number): Buffer {
  const isShort = text.length <= 4 * Math.ceil(most / 3);
  const bytes = Buffer.from(isShort ? text : '', 'base64');
  if (!isShort || bytes.length > most) throw refuse('OperationError', `${what} is over the limit of ${most} bytes`);
  // Node leaves out what is no base64.
  if (4 * Math.ceil(bytes.length / 3) !== text.length) throw new TypeError(`${what} is no base64 with padding`);
  return bytes;
}

export const toBase64 = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64');
