import type { Reader } from './wasm-binary.ts';

/** Codes of instructions. An instruction with a prefix has the prefix times 65536 plus its own number. */
export const op = {
  unreachable: 0x00,
  loop: 0x03,
  if: 0x04,
  end: 0x0b,
  call: 0x10,
  callIndirect: 0x11,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  callRef: 0x14,
  returnCallRef: 0x15,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  tableSet: 0x26,
  memoryGrow: 0x40,
  i32Const: 0x41,
  i32Eqz: 0x45,
  i32Load: 0x28,
  i32LtS: 0x48,
  i32GtU: 0x4b,
  i32Sub: 0x6b,
  i32And: 0x71,
  refFunc: 0xd2,
  memoryInit: 0xfc_0008,
  dataDrop: 0xfc_0009,
  memoryCopy: 0xfc_000a,
  memoryFill: 0xfc_000b,
  tableInit: 0xfc_000c,
  elemDrop: 0xfc_000d,
  tableCopy: 0xfc_000e,
  tableGrow: 0xfc_000f,
  tableFill: 0xfc_0011,
} as const;

/** Returns the prefix of an instruction's code, 0 for none. */
export const prefixOf = (code: number): number => code >>> 16;

const hasMemoryIndex = 0x40;

/**
 * Reads the next instruction, skips its immediates and returns its code. Throws a RangeError for an unknown
 * instruction, because the length of its immediates is unknown.
 */
export function readInstruction(reader: Reader): number {
  const code = reader.byte();
  if (code >= 0x45 && code <= 0xc4) return code; // arithmetic
  switch (code) {
    case 0x00: // unreachable
    case 0x01: // nop
    case 0x05: // else
    case 0x0a: // throw_ref
    case 0x0b: // end
    case 0x0f: // return
    case 0x19: // catch_all
    case 0x1a: // drop
    case 0x1b: // select
    case 0xd1: // ref.is_null
    case 0xd3: // ref.eq
    case 0xd4: // ref.as_non_null
      return code;
    case 0x02: // block
    case 0x03: // loop
    case 0x04: // if
    case 0x06: // try
      skipType(reader);
      return code;
    case 0x07: // catch
    case 0x08: // throw
    case 0x09: // rethrow
    case 0x0c: // br
    case 0x0d: // br_if
    case 0x10: // call
    case 0x12: // return_call
    case 0x14: // call_ref
    case 0x15: // return_call_ref
    case 0x18: // delegate
    case 0x20: // local.get, set, tee
    case 0x21:
    case 0x22:
    case 0x23: // global.get, set
    case 0x24:
    case 0x25: // table.get, set
    case 0x26:
    case 0x3f: // memory.size, grow
    case 0x40:
    case 0x41: // i32.const, i64.const
    case 0x42:
    case 0xd0: // ref.null
    case 0xd2: // ref.func
    case 0xd5: // br_on_null
    case 0xd6: // br_on_non_null
      reader.skipNumber();
      return code;
    case 0x11: // call_indirect
    case 0x13: // return_call_indirect
      skipNumbers(reader, 2);
      return code;
    case 0x0e: // br_table
      skipNumbers(reader, reader.unsigned() + 1);
      return code;
    case 0x1c: // select with types
      for (let left = reader.unsigned(); left > 0; left--) skipType(reader);
      return code;
    case 0x1f: // try_table
      skipType(reader);
      for (let left = reader.unsigned(); left > 0; left--) skipNumbers(reader, reader.byte() <= 1 ? 2 : 1);
      return code;
    case 0x43: // f32.const
      reader.skip(4);
      return code;
    case 0x44: // f64.const
      reader.skip(8);
      return code;
    case 0xfb:
      return readObjectInstruction(reader);
    case 0xfc:
      return readBulkInstruction(reader);
    case 0xfd:
      return readVectorInstruction(reader);
    case 0xfe:
      return readAtomicInstruction(reader);
    default:
      if (code >= 0x28 && code <= 0x3e) {
        skipMemoryArgument(reader); // loads and stores
        return code;
      }
      throw unknown(code);
  }
}

/** Skips the type of a value or of a block: a number or vector, a reference with its type, or an index. */
export function skipType(reader: Reader): void {
  const type = reader.byte();
  if (type === 0x63 || type === 0x64 || (type & 0x80) !== 0) reader.skipNumber();
}

/** Skips the immediates of instructions of the garbage collector. */
function readObjectInstruction(reader: Reader): number {
  const number = reader.unsigned();
  if (number <= 1 || number === 6 || number === 7 || (number >= 11 && number <= 14) || number === 16)
    reader.skipNumber();
  else if (number <= 5 || (number >= 8 && number <= 10) || (number >= 17 && number <= 19)) skipNumbers(reader, 2);
  else if (number >= 20 && number <= 23) reader.skipNumber();
  else if (number === 24 || number === 25) {
    reader.skip(1);
    skipNumbers(reader, 3);
  } else if (number > 30) throw unknown(0xfb, number);
  return 0xfb_0000 + number;
}

function readBulkInstruction(reader: Reader): number {
  const number = reader.unsigned();
  if (number > 17) throw unknown(0xfc, number);
  if (number === 8 || number === 10 || number === 12 || number === 14) skipNumbers(reader, 2);
  else if (number > 7) reader.skipNumber();
  return 0xfc_0000 + number;
}

function readVectorInstruction(reader: Reader): number {
  const number = reader.unsigned();
  if (number > 0x1ff) throw unknown(0xfd, number);
  if (number <= 11 || number === 92 || number === 93) skipMemoryArgument(reader);
  else if (number === 12 || number === 13) reader.skip(16);
  else if (number >= 21 && number <= 34) reader.skip(1);
  else if (number >= 84 && number <= 91) {
    skipMemoryArgument(reader);
    reader.skip(1);
  }
  return 0xfd_0000 + number;
}

function readAtomicInstruction(reader: Reader): number {
  const number = reader.unsigned();
  if (number > 0x4e) throw unknown(0xfe, number);
  if (number === 3) reader.skip(1);
  else skipMemoryArgument(reader);
  return 0xfe_0000 + number;
}

/** Skips the argument of an access to memory: alignment, the memory's index if it is not the first, and an offset. */
function skipMemoryArgument(reader: Reader): void {
  if (reader.unsigned() & hasMemoryIndex) reader.skipNumber();
  reader.skipNumber();
}

function skipNumbers(reader: Reader, count: number): void {
  for (let left = count; left > 0; left--) reader.skipNumber();
}

function unknown(...code: readonly number[]): RangeError {
  return new RangeError(`it has an unknown instruction (${code.map((part) => `0x${part.toString(16)}`).join(' ')})`);
}
