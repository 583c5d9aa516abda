/** Memory below this is cheap to make. */
const leastBytes = 64 * 1024;
/** What is kept, at most. */
const mostBytes = 4 * 1024 * 1024;

let spare: Buffer | undefined;
/** Memory that was made here. Small buffers lie in a pool of Node, which has 64 KiB in later versions. */
const own = new WeakSet<ArrayBufferLike>();

/**
 * Returns memory of at least so many bytes, with any content. Large memory is that of an earlier message, if it was
 * given back, because V8 collects all garbage after each ten megabytes or so of new memory.
 */
export function takeMemory(bytes: number): Buffer {
  if (bytes < leastBytes) return Buffer.allocUnsafe(bytes);
  if (!spare || spare.length < bytes) {
    const made = Buffer.allocUnsafeSlow(bytes);
    own.add(made.buffer);
    return made;
  }
  const taken = spare;
  spare = undefined;
  return taken;
}

/** Gives back the memory of a message that nobody reads any more. */
export function giveMemoryBack({ buffer }: Buffer): void {
  if (own.has(buffer) && buffer.byteLength <= mostBytes) spare = Buffer.from(buffer);
}
