import { fail } from '../../../../base/core/errors.ts';

/** Returns the bytes of a text of a guest. Throws `InvalidArguments`, which names `what`, if it is no base64. */
export function bytesOfBase64(base64: string, what: string): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  // Node leaves out what is no base64.
  if (4 * Math.ceil(bytes.length / 3) !== base64.length)
    throw fail('InvalidArguments', `${what} is no base64 with padding`);
  return bytes;
}
