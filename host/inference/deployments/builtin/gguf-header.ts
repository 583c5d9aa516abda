import { open } from 'node:fs/promises';
import { DamagedGguf, GgufReader, type GgufValue } from '../../../base/core/model-files/gguf.ts';

/** Returns the metadata of a GGUF file, by key. Undefined when the file is damaged or not a GGUF file. */
export async function readGgufHeader(path: string): Promise<ReadonlyMap<string, GgufValue> | undefined> {
  await using file = await open(path);
  const { size } = await file.stat();
  const reader = new GgufReader({
    bytes: size,
    async read(offset, length) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      if (bytesRead < length) throw new DamagedGguf('the file became shorter while it was read');
      return buffer;
    },
  });
  try {
    return (await reader.metadata()).values;
  } catch (error) {
    if (error instanceof DamagedGguf) return undefined;
    throw error;
  }
}
