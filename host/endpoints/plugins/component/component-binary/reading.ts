import { Reader } from '../core-modules/wasm-binary.ts';

const headerBytes = 8; // magic and version

/**
 * Calls `read` with each section of a module or component. Throws a RangeError unless it reads the section to its end,
 * because names that are read at a wrong position are not the names that the translation finds.
 */
export function readSections(binary: Uint8Array, read: (id: number, body: Reader) => void): void {
  const reader = new Reader(binary, headerBytes);
  while (!reader.atEnd) {
    const id = reader.byte();
    const body = new Reader(reader.part(), 0);
    read(id, body);
    if (!body.atEnd) throw new RangeError(`section ${id} has bytes after its end`);
  }
}

/** Reads a count and calls `read` that many times. */
export function repeat(reader: Reader, read: () => void): void {
  for (let left = reader.unsigned(); left > 0; left--) read();
}

/** The error for a form of the binary format that the host does not read. */
export const unknownForm = (what: string, code: number): RangeError =>
  new RangeError(`${what} has an unknown form (0x${code.toString(16)})`);
