/** Divides bytes into pieces of `size` bytes, the last of which may be shorter. */
export async function* pieces(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.length;
    while (bytes >= size) {
      const all = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting);
      yield all.subarray(0, size);
      waiting = [all.subarray(size)];
      bytes -= size;
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
