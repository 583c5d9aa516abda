import { concat, Reader, unsigned } from './wasm-binary.ts';
import { skipType } from './instructions.ts';

/** Numbers of sections. Tables, memories, tags and variables are the ones that a module defines, without imports. */
export const section = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13,
} as const;
export const kind = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;

/** The order of sections. Custom sections can stand anywhere. */
const order: readonly number[] = [
  ...[section.type, section.import, section.function, section.table, section.memory, section.tag, section.global],
  ...[section.export, section.start, section.element, section.dataCount, section.code, section.data],
];
const headerBytes = 8; // magic and version

/** The number of functions, tables and so on that a module imports. Imports come first in the indices of each kind. */
export type ImportCounts = { readonly [K in keyof typeof kind]: number };

/** The sections of a core module, for reading and changing. Throws a RangeError for a malformed module. */
export class Sections {
  readonly #header: Uint8Array;
  readonly #sections: { readonly id: number; body: Uint8Array }[] = [];

  constructor(module: Uint8Array) {
    this.#header = module.subarray(0, headerBytes);
    const reader = new Reader(module, headerBytes);
    while (!reader.atEnd) {
      const id = reader.byte();
      const size = reader.unsigned();
      const start = reader.offset;
      reader.skip(size);
      this.#sections.push({ id, body: module.subarray(start, reader.offset) });
    }
  }

  /** Returns the content of a section, or undefined when it is missing. */
  body(id: number): Uint8Array | undefined {
    return this.#sections.find((each) => each.id === id)?.body;
  }

  /** Sets the content of a section, and adds the section when it is missing. */
  put(id: number, body: Uint8Array): void {
    const known = this.#sections.find((each) => each.id === id);
    if (known) {
      known.body = body;
      return;
    }
    const next = this.#sections.findIndex(
      (each) => each.id !== section.custom && order.indexOf(each.id) > order.indexOf(id),
    );
    this.#sections.splice(next < 0 ? this.#sections.length : next, 0, { id, body });
  }

  /** Returns the number of entries of a section. */
  count(id: number): number {
    const body = this.body(id);
    return body === undefined ? 0 : new Reader(body, 0).unsigned();
  }

  /** Adds entries at the end of a section. Returns the index of the first one within the section. */
  append(id: number, entries: readonly (readonly number[])[]): number {
    const body = this.body(id) ?? Uint8Array.of(0);
    const reader = new Reader(body, 0);
    const count = reader.unsigned();
    this.put(
      id,
      concat(
        Uint8Array.from(unsigned(count + entries.length)),
        body.subarray(reader.offset),
        Uint8Array.from(entries.flat()),
      ),
    );
    return count;
  }

  /** Removes the custom sections, because names and positions in them are wrong after the code has changed. */
  dropCustom(): void {
    for (let n = this.#sections.length - 1; n >= 0; n--)
      if (this.#sections[n]!.id === section.custom) this.#sections.splice(n, 1);
  }

  importCounts(): ImportCounts {
    const counts = { function: 0, table: 0, memory: 0, global: 0, tag: 0 };
    const body = this.body(section.import);
    if (body === undefined) return counts;
    const reader = new Reader(body, 0);
    for (let left = reader.unsigned(); left > 0; left--) {
      reader.skipName();
      reader.skipName();
      counts[skipImport(reader)]++;
    }
    return counts;
  }

  /** Returns the whole module. */
  bytes(): Uint8Array<ArrayBuffer> {
    return concat(
      this.#header,
      ...this.#sections.flatMap(({ id, body }) => [Uint8Array.of(id, ...unsigned(body.length)), body]),
    );
  }
}

/** Returns the bytes of a name. */
export function nameBytes(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  return [...unsigned(bytes.length), ...bytes];
}

/** Reads the limits of a memory or a table. Flags say whether there is a maximum and whether threads share it. */
export interface Limits {
  readonly flags: number;
  readonly minimum: number;
  readonly maximum: number | undefined;
}

const hasMaximum = 1;
const isShared = 2;

/** Throws a RangeError for limits of another form, because the length of their numbers differs. */
export function readLimits(reader: Reader): Limits {
  const flags = reader.byte();
  if (flags > (hasMaximum | isShared))
    throw new RangeError('it has a memory or a table of a kind that is not supported (64-bit or custom page size)');
  const minimum = reader.unsigned();
  return { flags, minimum, maximum: flags & hasMaximum ? reader.unsigned() : undefined };
}

/** Skips the description of an import, after its two names. Returns its kind. */
export function skipImport(reader: Reader): keyof ImportCounts {
  const what = reader.byte();
  switch (what) {
    case kind.function:
      reader.skipNumber();
      return 'function';
    case kind.table:
      skipType(reader);
      readLimits(reader);
      return 'table';
    case kind.memory:
      readLimits(reader);
      return 'memory';
    case kind.global:
      skipType(reader);
      reader.skip(1);
      return 'global';
    case kind.tag:
      reader.skip(1);
      reader.skipNumber();
      return 'tag';
    default:
      throw new RangeError('it imports something of an unknown kind');
  }
}
