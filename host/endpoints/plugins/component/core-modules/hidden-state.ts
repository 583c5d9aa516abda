import { op, prefixOf, readInstruction, skipType } from './instructions.ts';
import { section, Sections } from './sections.ts';
import { Reader } from './wasm-binary.ts';

/** Instructions that change state that exports do not show: entries of tables and dropped segments. */
const changesHiddenState: ReadonlyMap<number, string> = new Map([
  [op.tableSet, 'table.set'],
  [op.tableGrow, 'table.grow'],
  [op.tableFill, 'table.fill'],
  [op.tableCopy, 'table.copy'],
  [op.tableInit, 'table.init'],
  [op.elemDrop, 'elem.drop'],
  [op.dataDrop, 'data.drop'],
]);
/** Instructions that create an object of the garbage collector: struct.new, array.new and their kin. */
const makesObject: ReadonlySet<number> = new Set([
  0xfb_0000, 0xfb_0001, 0xfb_0006, 0xfb_0007, 0xfb_0008, 0xfb_0009, 0xfb_000a,
]);
const objects = 0xfb;
/** Types of variables that can be read and written from outside: numbers, functions, and objects of the host. */
const restorableTypes: ReadonlySet<number> = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x70, 0x6f]);
const numberTypes: ReadonlySet<number> = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x7b]);
const functionType = 0x60;

/**
 * Returns the name of an instruction that changes state which restoring memories and variables does not undo. Returns
 * undefined when the module has none. Throws a RangeError when the module keeps state without a limit: objects of the
 * garbage collector lie in the heap of the host's engine, and an object that does not fit there ends the process.
 */
export function hiddenState(module: Uint8Array): string | undefined {
  const sections = new Sections(module);
  refuseReferencesInExceptions(sections);
  return hiddenVariable(sections) ?? hiddenChange(sections);
}

function hiddenChange(sections: Sections): string | undefined {
  const code = sections.body(section.code);
  if (code === undefined) return undefined;
  let found: string | undefined;
  const reader = new Reader(code, 0);
  for (let left = reader.unsigned(); left > 0; left--) {
    const end = reader.unsigned() + reader.offset;
    for (let groups = reader.unsigned(); groups > 0; groups--) {
      reader.skipNumber();
      skipType(reader);
    }
    while (reader.offset < end) {
      const instruction = readInstruction(reader);
      if (prefixOf(instruction) === objects && makesObject.has(instruction))
        throw new RangeError('it makes objects of the garbage collector, whose memory has no limit');
      found ??= changesHiddenState.get(instruction);
    }
  }
  return found;
}

function hiddenVariable(sections: Sections): string | undefined {
  const body = sections.body(section.global);
  if (body === undefined) return undefined;
  const reader = new Reader(body, 0);
  for (let left = reader.unsigned(); left > 0; left--) {
    const type = body[reader.offset]!;
    skipType(reader);
    const isMutable = reader.byte() === 1;
    if (isMutable && !restorableTypes.has(type)) return `a variable of type 0x${type.toString(16)}`;
    while (readInstruction(reader) !== op.end);
  }
  return undefined;
}

/**
 * Throws when an exception can carry references. Exceptions are objects, so a guest that puts each one into the next
 * fills the heap. A guest holds no more exceptions with numbers only than its tables have entries.
 */
function refuseReferencesInExceptions(sections: Sections): void {
  if (sections.count(section.tag) === 0) return;
  const types = sections.body(section.type);
  if (types === undefined) return;
  const reader = new Reader(types, 0);
  const withReferences = new Set<number>();
  const count = reader.unsigned();
  for (let n = 0; n < count; n++) {
    if (reader.byte() !== functionType) throw new RangeError('it has exceptions beside types of objects');
    for (let left = reader.unsigned(); left > 0; left--) {
      if (!numberTypes.has(types[reader.offset]!)) withReferences.add(n);
      skipType(reader);
    }
    for (let left = reader.unsigned(); left > 0; left--) skipType(reader);
  }
  const tags = new Reader(sections.body(section.tag)!, 0);
  for (let left = tags.unsigned(); left > 0; left--) {
    tags.skip(1);
    if (withReferences.has(tags.unsigned()))
      throw new RangeError('it has exceptions that carry references, whose memory has no limit');
  }
}
