import { fail } from '../../../../base/core/errors.ts';

/**
 * Returns the bytes of a text of a guest, which is base64 with padding. Throws `InvalidArguments`, which names `what`,
 * for another text.
 */
export function bytesOfBase64(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  // Node leaves out what is no base64.
  if (4 * Math.ceil(bytes.length / 3) !== text.length)
    throw fail('InvalidArguments', `${what} is no base64 with padding`);
  return bytes;
}
