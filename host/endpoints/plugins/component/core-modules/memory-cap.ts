import { op, readInstruction, skipType } from './instructions.ts';
import { readLimits, section, Sections } from './sections.ts';
import { Reader, unsigned } from './wasm-binary.ts';

export const pageBytes = 65_536;
/**
 * Bytes that V8 uses for an entry of a table in the heap of the thread: 50 on Node 24, and twice as many while the
 * table grows.
 */
export const tableEntryBytes = 128;
/**
 * Maximum number of memories. Each memory reserves gigabytes of addresses, however small it is. A component of
 * TypeScript has two.
 */
const maxMemories = 4;
const flag = { hasMaximum: 1, isShared: 2 } as const;

/** The initial size of the instances of a module in one instance of the plugin. */
export interface InitialMemory {
  readonly memories: number;
  /** Bytes of memories and tables. */
  readonly bytes: number;
}

/**
 * Returns the initial size of the memories and tables that a core module defines. Throws a RangeError for a shared
 * memory or a memory of 64 bits.
 */
export function initialMemory(module: Uint8Array): InitialMemory {
  const sections = new Sections(module);
  let [memories, bytes] = [0, 0];
  const memoryBody = sections.body(section.memory);
  if (memoryBody) {
    const reader = new Reader(memoryBody, 0);
    for (memories = reader.unsigned(); reader.offset < memoryBody.length;) {
      const { flags, minimum } = readLimits(reader);
      if (flags & flag.isShared)
        throw new RangeError(
          'it has a memory that threads share, which a plugin cannot have: build it without threads',
        );
      bytes += minimum * pageBytes;
    }
  }
  const tableBody = sections.body(section.table);
  if (tableBody) {
    const reader = new Reader(tableBody, 0);
    for (let left = reader.unsigned(); left > 0; left--) {
      const hasInitial = tableBody[reader.offset] === 0x40;
      if (hasInitial) reader.skip(2);
      skipType(reader);
      bytes += readLimits(reader).minimum * tableEntryBytes;
      if (hasInitial) while (readInstruction(reader) !== op.end);
    }
  }
  return { memories, bytes };
}

/** Returns the initial size of several instances of a module. */
export function timesInitial({ memories, bytes }: InitialMemory, instances: number): InitialMemory {
  return { memories: memories * instances, bytes: bytes * instances };
}

/**
 * Returns the bytes of a new instance of these modules. Throws a RangeError when they are over the limit, or when there
 * are too many memories.
 */
export function checkInitialMemory(modules: readonly InitialMemory[], maxBytes: number): number {
  const memories = modules.reduce((total, each) => total + each.memories, 0);
  if (memories > maxMemories) throw new RangeError(`it has ${memories} memories, a plugin has at most ${maxMemories}`);
  const bytes = modules.reduce((total, each) => total + each.bytes, 0);
  if (bytes > maxBytes) throw new RangeError(`it needs ${bytes} bytes of memory at once, the limit is ${maxBytes}`);
  return bytes;
}

/**
 * Returns the core module with a maximum on each memory that it defines, so that the engine reserves no more. The hooks
 * count the total of an instance where it grows (`hooks.ts`). Throws a RangeError when a memory begins above the
 * maximum.
 */
export function capMemory(module: Uint8Array<ArrayBuffer>, maxBytes: number): Uint8Array<ArrayBuffer> {
  const sections = new Sections(module);
  const body = sections.body(section.memory);
  if (body === undefined) return module;
  checkInitialMemory([initialMemory(module)], maxBytes);
  const maxPages = Math.floor(maxBytes / pageBytes);
  const reader = new Reader(body, 0);
  const count = reader.unsigned();
  const capped = unsigned(count);
  for (let n = 0; n < count; n++) {
    const { flags, minimum, maximum = maxPages } = readLimits(reader);
    capped.push(flags | flag.hasMaximum, ...unsigned(minimum), ...unsigned(Math.min(maximum, maxPages)));
  }
  sections.put(section.memory, Uint8Array.from(capped));
  return sections.bytes();
}
