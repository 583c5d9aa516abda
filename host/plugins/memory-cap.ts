import { concat, Reader, unsigned } from './wasm-binary.ts';

const pageBytes = 65_536;
const memorySection = 5;
const hasMaximum = 1;

/**
 * The core module with a maximum on each memory that it defines, so that `memory.grow` fails beyond it. Imported memories have the
 * limit of the module that defines them. Throws a RangeError when a memory is larger than that from the start.
 */
export function capMemory(module: Uint8Array<ArrayBuffer>, maxBytes: number): Uint8Array<ArrayBuffer> {
  const maxPages = Math.floor(maxBytes / pageBytes);
  const reader = new Reader(module, 8); // after magic and version
  while (!reader.atEnd) {
    const sectionStart = reader.offset;
    const id = reader.byte();
    const size = reader.unsigned();
    const bodyStart = reader.offset;
    if (id === memorySection) {
      const body = cappedMemories(new Reader(module, bodyStart), maxPages);
      return concat(module.subarray(0, sectionStart), Uint8Array.of(memorySection, ...unsigned(body.length), ...body), module.subarray(bodyStart + size));
    }
    reader.offset = bodyStart + size;
  }
  return module;
}

function cappedMemories(reader: Reader, maxPages: number): number[] {
  const count = reader.unsigned();
  const body = unsigned(count);
  for (let n = 0; n < count; n++) {
    const flags = reader.byte();
    if (flags & ~3) throw new RangeError('it has a memory of a kind that is not supported (64-bit or custom page size)');
    const minimum = reader.unsigned();
    const maximum = flags & hasMaximum ? reader.unsigned() : maxPages;
    if (minimum > maxPages) throw new RangeError(`it needs ${minimum * pageBytes} bytes of memory at once, the limit is ${maxPages * pageBytes}`);
    body.push(flags | hasMaximum, ...unsigned(minimum), ...unsigned(Math.min(maximum, maxPages)));
  }
  return body;
}
