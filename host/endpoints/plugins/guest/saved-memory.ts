/** The content of a memory. Bytes outside of `parts` are zero, such as most of the stack. */
export interface SavedMemory {
  readonly bytes: number;
  /** The parts in ascending order, without overlap. */
  readonly parts: readonly { readonly at: number; readonly content: Uint8Array }[];
}

/** Runs of zeros up to this length are stored with the surrounding bytes. */
const zeroRunBytes = 4096;

/** Returns a copy of the content of a memory. */
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

/** Bytes that are searched for zeros at a time, so that they stay in the nearest cache of the processor. */
const noBytes = Buffer.alloc(16 * 1024);

/**
 * Restores the content and clears the part by which the memory has grown. It writes or checks every byte, because
 * nothing tells which bytes have changed. It reads before it clears, because most of a stack is never used, and reading
 * untouched memory costs less than writing it and occupies no space.
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
