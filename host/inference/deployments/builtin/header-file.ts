import { open } from 'node:fs/promises';
import type { HeaderFile } from '../../../base/core/model-files/gguf.ts';

/** Opens the file of a model and passes it on. Closes it afterwards. */
export async function withHeader<T>(path: string, use: (file: HeaderFile) => Promise<T>): Promise<T> {
  await using file = await open(path);
  const { size } = await file.stat();
  return await use({
    bytes: size,
    async read(offset, length) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      if (bytesRead < length) throw new Error(`${path} became shorter while it was read`);
      return buffer;
    },
  });
}
