import { DamagedGguf, GgufReader, type GgufValue } from '../../../base/core/model-files/gguf.ts';
import { withHeader } from './header-file.ts';

/** Returns the metadata of a GGUF file, by key. Undefined when the file is damaged or not a GGUF file. */
export async function readGgufHeader(path: string): Promise<ReadonlyMap<string, GgufValue> | undefined> {
  try {
    return await withHeader(path, async (file) => (await new GgufReader(file).metadata()).values);
  } catch (error) {
    if (error instanceof DamagedGguf) return undefined;
    throw error;
  }
}

/** Returns a number of the header that counts something; 0 for anything else. */
export const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) ? Math.max(0, value) : 0;
