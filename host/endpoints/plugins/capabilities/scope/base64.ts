import { fail } from '../../../../base/core/errors.ts';

/** Returns base64 with padding. */
export const toBase64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

/** Returns the bytes of base64 with padding, or undefined for another text. */
export function decodedBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Node leaves out what is no base64.
  return 4 * Math.ceil(bytes.length / 3) === text.length ? bytes : undefined;
}

/** Returns the bytes of a text of a guest. Throws `InvalidArguments`, which names `what`, if it is no base64. */
export function bytesOfBase64(text: string, what: string): Buffer {
  const bytes = decodedBase64(text);
  if (!bytes) throw fail('InvalidArguments', `${what} is no base64 with padding`);
  return bytes;
}
