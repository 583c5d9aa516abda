import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** Returns the digest of a file, which is read as a stream. */
export async function hashFile(
  file: string,
  algorithm: 'sha1' | 'sha256' | 'sha512',
  encoding: 'hex' | 'base64',
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) hash.update(chunk as Buffer);
  return hash.digest(encoding);
}

/** Returns the difference, or undefined when the file matches `integrity`. */
export async function integrityMismatch(
  file: string,
  integrity: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const isNpm = integrity.startsWith('sha512-');
  const actual = isNpm
    ? `sha512-${await hashFile(file, 'sha512', 'base64', signal)}`
    : await hashFile(file, 'sha256', 'hex', signal);
  return actual === integrity ? undefined : `expected ${integrity}, got ${actual}`;
}
