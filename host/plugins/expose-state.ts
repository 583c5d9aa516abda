import { concat, Reader, unsigned } from './wasm-binary.ts';

const section = { import: 2, memory: 5, global: 6, export: 7, start: 8, element: 9, code: 10, data: 11, dataCount: 12 } as const;
/** What stands after the exports. */
const later: ReadonlySet<number> = new Set([section.start, section.element, section.code, section.data, section.dataCount]);
const kind = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const hasMaximum = 1;

/**
 * The core module with every memory and every variable that it defines among its exports, as `aana:memory:0` and so on. A guest's state is
 * saved and restored through exports, and compilers keep some of it to themselves: the stack pointer, or where WASI's adapter has its memory.
 */
export function exposeState(module: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const imported = { memories: 0, globals: 0 };
  const names: number[][] = [];
  const reader = new Reader(module, 8); // after magic and version
  while (!reader.atEnd) {
    const sectionStart = reader.offset;
    const id = reader.byte();
    const size = reader.unsigned();
    const bodyStart = reader.offset;
    if (id === section.import) Object.assign(imported, countImports(reader));
    else if (id === section.memory) names.push(...definedMemories(reader, imported.memories));
    else if (id === section.global) names.push(...definedVariables(reader, imported.globals));
    else if (id === section.export) {
      const count = reader.unsigned();
      const added = withExports(count, module.subarray(reader.offset, bodyStart + size), names);
      return concat(module.subarray(0, sectionStart), added, module.subarray(bodyStart + size));
    } else if (later.has(id)) return concat(module.subarray(0, sectionStart), withExports(0, new Uint8Array(), names), module.subarray(sectionStart));
    reader.offset = bodyStart + size;
  }
  return names.length === 0 ? module : concat(module, withExports(0, new Uint8Array(), names));
}

function withExports(count: number, exports: Uint8Array, added: readonly number[][]): Uint8Array {
  const number = Uint8Array.from(unsigned(count + added.length));
  const body = concat(number, exports, ...added.map((each) => Uint8Array.from(each)));
  return concat(Uint8Array.of(section.export, ...unsigned(body.length)), body);
}

function exportOf(what: 'memory' | 'global', index: number): number[] {
  const name = new TextEncoder().encode(`aana:${what}:${index}`);
  return [...unsigned(name.length), ...name, kind[what], ...unsigned(index)];
}

function countImports(reader: Reader): { memories: number; globals: number } {
  const found = { memories: 0, globals: 0 };
  for (let left = reader.unsigned(); left > 0; left--) {
    reader.skipName();
    reader.skipName();
    switch (reader.byte()) {
      case kind.function:
        reader.skipNumber();
        break;
      case kind.table:
        skipType(reader);
        skipLimits(reader);
        break;
      case kind.memory:
        skipLimits(reader);
        found.memories++;
        break;
      case kind.global:
        skipType(reader);
        reader.skip(1);
        found.globals++;
        break;
      case kind.tag:
        reader.skip(1);
        reader.skipNumber();
        break;
      default:
        throw new RangeError('it imports something of an unknown kind');
    }
  }
  return found;
}

function definedMemories(reader: Reader, first: number): number[][] {
  return Array.from({ length: reader.unsigned() }, (_, n) => exportOf('memory', first + n));
}

function definedVariables(reader: Reader, first: number): number[][] {
  const found: number[][] = [];
  const count = reader.unsigned();
  for (let n = 0; n < count; n++) {
    skipType(reader);
    const isMutable = reader.byte() === 1;
    skipConstant(reader);
    if (isMutable) found.push(exportOf('global', first + n));
  }
  return found;
}

/** A number's or vector's type, or a reference with the type that it refers to. */
function skipType(reader: Reader): void {
  const type = reader.byte();
  if (type === 0x63 || type === 0x64) reader.skipNumber();
}

function skipLimits(reader: Reader): void {
  const flags = reader.byte();
  reader.skipNumber();
  if (flags & hasMaximum) reader.skipNumber();
}

/** What a variable begins with: a constant expression. */
function skipConstant(reader: Reader): void {
  for (;;) {
    const code = reader.byte();
    switch (code) {
      case 0x0b: // end
        return;
      case 0x23: // global.get
      case 0x41: // i32.const
      case 0x42: // i64.const
      case 0xd0: // ref.null
      case 0xd2: // ref.func
        reader.skipNumber();
        break;
      case 0x43: // f32.const
        reader.skip(4);
        break;
      case 0x44: // f64.const
        reader.skip(8);
        break;
      case 0x6a: // i32.add, sub, mul
      case 0x6b:
      case 0x6c:
      case 0x7c: // i64.add, sub, mul
      case 0x7d:
      case 0x7e:
        break;
      case 0xfd: // v128.const
        if (reader.unsigned() !== 12) throw new RangeError('it has a variable that begins with an unknown instruction');
        reader.skip(16);
        break;
      default:
        throw new RangeError(`it has a variable that begins with an unknown instruction (0x${code.toString(16)})`);
    }
  }
}
