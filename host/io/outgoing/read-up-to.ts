/** Returns all bytes of an answer. Throws the error of `tooLong` when there are more than `maxBytes`. */
export async function readUpTo(
  maxBytes: number,
  answer: AsyncIterable<Buffer>,
  tooLong: (why: string) => Error = (why) => new Error(`its answer ${why}`),
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLong(`is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
