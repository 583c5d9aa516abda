import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Bytes at each end of a file that count. Recordings with the same length and the same ends count as equal. */
const END_BYTES = 64 * 1024;

/**
 * Returns a hash of the method and arguments, independent of the caller and the time. Files count by their contents,
 * because each request has its own copy at its own path.
 */
export async function fingerprint(method: string, args: Record<string, unknown>): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(method));
  await addValue(hash, args);
  return hash.digest('base64');
}

async function addValue(hash: Hash, value: unknown): Promise<void> {
  if (typeof value !== 'object' || value === null) {
    hash.update(`${typeof value}:${JSON.stringify(value) ?? ''};`);
  } else if (Array.isArray(value)) {
    hash.update(`[${value.length}`);
    for (const item of value) await addValue(hash, item);
  } else {
    await addObject(hash, value as Record<string, unknown>);
  }
}

async function addObject(hash: Hash, object: Record<string, unknown>): Promise<void> {
  const { sha256 } = object;
  if (typeof sha256 === 'string') {
    hash.update(`sha256:${sha256};`);
    return;
  }
  const keys = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort();
  hash.update(`{${keys.length}`);
  for (const key of keys) {
    hash.update(`${JSON.stringify(key)}:`);
    const value = object[key];
    if (key !== 'path' || typeof value !== 'string' || !(await addFile(hash, value))) await addValue(hash, value);
  }
}

/** Adds the contents of a file. Returns false when there is no such file. */
async function addFile(hash: Hash, path: string): Promise<boolean> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const buffer = Buffer.alloc(Math.min(END_BYTES, size));
      const first = await file.read(buffer, 0, buffer.length, 0);
      hash.update(`file:${size};`).update(buffer.subarray(0, first.bytesRead));
      const last = await file.read(buffer, 0, buffer.length, Math.max(0, size - buffer.length));
      hash.update(buffer.subarray(0, last.bytesRead));
      return true;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}
