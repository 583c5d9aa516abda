/** Memory below this is cheap to make. */
const leastBytes = 64 * 1024;
/** What is kept, at most. */
const mostBytes = 4 * 1024 * 1024;

let spare: Buffer | undefined;

/**
 * Returns memory of at least so many bytes, with any content. Large memory is that of an earlier message, if it was
 * given back: V8 collects all garbage whenever some ten megabytes of such memory were made anew.
 */
export function takeMemory(bytes: number): Buffer {
  if (bytes < leastBytes || !spare || spare.length < bytes) return Buffer.allocUnsafe(bytes);
  const taken = spare;
  spare = undefined;
  return taken;
}

/** Gives back the memory of a message that nobody reads any more. */
export function giveMemoryBack({ buffer }: Buffer): void {
  if (buffer.byteLength >= leastBytes && buffer.byteLength <= mostBytes) spare = Buffer.from(buffer);
}
