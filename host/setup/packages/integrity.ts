import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Returns the digest of a file, which is read in pieces. */
export async function hashFile(
  file: string,
  algorithm: 'sha1' | 'sha256' | 'sha512',
  encoding: 'hex' | 'base64',
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash(algorithm);
  await using handle = await open(file);
  // A stream would take memory for each piece, which costs as much CPU time as the digest.
  const buffer = Buffer.allocUnsafe(1 << 20);
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) return hash.digest(encoding);
    hash.update(buffer.subarray(0, bytesRead));
  }
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
