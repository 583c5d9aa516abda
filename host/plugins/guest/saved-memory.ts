/** A memory's content: what is not in `parts` is zero, such as most of the stack. */
export interface SavedMemory {
  readonly bytes: number;
  /** In order of their place, apart from each other. */
  readonly parts: readonly { readonly at: number; readonly content: Uint8Array }[];
}

/** Zeros up to this many bytes are kept with what is around them. */
const zeroRunBytes = 4096;

/** The content of a memory; later changes to the memory do not reach it. */
export function saveMemory(memory: Uint8Array): SavedMemory {
  const parts: { at: number; content: Uint8Array }[] = [];
  const isZero = (at: number): boolean => memory.subarray(at, at + zeroRunBytes).every((byte) => byte === 0);
  for (let at = 0; at < memory.length;) {
    const start = at;
    while (at < memory.length && !isZero(at)) at += zeroRunBytes;
    if (at > start) parts.push({ at: start, content: memory.slice(start, at) });
    else at += zeroRunBytes;
  }
  return { bytes: memory.length, parts };
}

/** Zeros are looked for by so many bytes: they stay in the processor's nearest cache. */
const noBytes = Buffer.alloc(16 * 1024);

/**
 * Brings the content back, with zeros in what the memory has grown by. Every byte is written, for nothing tells which
 * were changed, or seen to be zero: most of a stack is never used, and looking at memory that nobody has written costs
 * less than writing it, and takes no room.
 */
export function restoreMemory(memory: Uint8Array, { parts }: SavedMemory): void {
  const buffer = Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  let end = 0;
  for (const { at, content } of parts) {
    clear(buffer, end, at);
    memory.set(content, at);
    end = at + content.length;
  }
  clear(buffer, end, memory.length);
}

function clear(memory: Buffer, start: number, end: number): void {
  for (let at = start; at < end; at += noBytes.length) {
    const next = Math.min(at + noBytes.length, end);
    if (memory.compare(noBytes, 0, next - at, at, next) !== 0) memory.fill(0, at, next);
  }
}
