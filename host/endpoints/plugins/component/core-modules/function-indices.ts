import { op, readInstruction, skipType } from './instructions.ts';
import { kind, readLimits, section, type Sections } from './sections.ts';
import { Reader, unsigned, Writer } from './wasm-binary.ts';

/** Returns the new number of a function. */
export type Renumber = (index: number) => number;

/**
 * Gives functions new numbers everywhere except in the code: in exports, in the start section, in tables and in
 * variables.
 */
export function renumberFunctions(sections: Sections, renumber: Renumber): void {
  const change = (id: number, write: (reader: Reader, body: Uint8Array, writer: Writer) => void): void => {
    const body = sections.body(id);
    if (body === undefined) return;
    const writer = new Writer();
    write(new Reader(body, 0), body, writer);
    sections.put(id, writer.written());
  };
  change(section.table, (reader, body, writer) => {
    each(reader, writer, () => {
      const start = reader.offset;
      const hasInitial = body[start] === 0x40;
      if (hasInitial) reader.skip(2);
      skipType(reader);
      readLimits(reader);
      writer.copy(body.subarray(start, reader.offset));
      if (hasInitial) copyConstant(reader, body, writer, renumber);
    });
  });
  change(section.global, (reader, body, writer) => {
    each(reader, writer, () => {
      const start = reader.offset;
      skipType(reader);
      reader.skip(1);
      writer.copy(body.subarray(start, reader.offset));
      copyConstant(reader, body, writer, renumber);
    });
  });
  change(section.export, (reader, body, writer) => {
    each(reader, writer, () => {
      const start = reader.offset;
      reader.skipName();
      const what = reader.byte();
      writer.copy(body.subarray(start, reader.offset));
      const index = reader.unsigned();
      writer.unsigned(what === kind.function ? renumber(index) : index);
    });
  });
  const start = sections.body(section.start);
  if (start) sections.put(section.start, Uint8Array.from(unsigned(renumber(new Reader(start, 0).unsigned()))));
  change(section.element, (reader, body, writer) =>
    each(reader, writer, () => copySegment(reader, body, writer, renumber)),
  );
}

/** Flags of a segment: it is not active, it names its table (or is declared only), it has expressions. */
const segment = { isNotActive: 1, hasTable: 2, hasExpressions: 4 } as const;

/** Copies a segment of a table. */
function copySegment(reader: Reader, body: Uint8Array, writer: Writer, renumber: Renumber): void {
  const flags = reader.unsigned();
  writer.unsigned(flags);
  if (!(flags & segment.isNotActive)) {
    if (flags & segment.hasTable) writer.unsigned(reader.unsigned());
    copyConstant(reader, body, writer, renumber);
  }
  if (flags & (segment.isNotActive | segment.hasTable)) {
    const start = reader.offset;
    skipType(reader); // or the kind of the elements, which is one byte as well
    writer.copy(body.subarray(start, reader.offset));
  }
  each(reader, writer, () => {
    if (flags & segment.hasExpressions) copyConstant(reader, body, writer, renumber);
    else writer.unsigned(renumber(reader.unsigned()));
  });
}

/** Copies a constant expression up to its end. */
function copyConstant(reader: Reader, body: Uint8Array, writer: Writer, renumber: Renumber): void {
  for (;;) {
    const start = reader.offset;
    const code = readInstruction(reader);
    if (code === op.refFunc) writer.push(op.refFunc, ...unsigned(renumber(new Reader(body, start + 1).unsigned())));
    else writer.copy(body.subarray(start, reader.offset));
    if (code === op.end) return;
  }
}

/** Copies a count and applies `copyOne` that many times. */
function each(reader: Reader, writer: Writer, copyOne: () => void): void {
  const count = reader.unsigned();
  writer.unsigned(count);
  for (let left = count; left > 0; left--) copyOne();
}
