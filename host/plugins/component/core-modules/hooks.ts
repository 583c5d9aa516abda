import { functionTypes, parameterCounts } from './function-types.ts';
import { renumberFunctions } from './function-indices.ts';
import { op, readInstruction, skipType } from './instructions.ts';
import { pageBytes, tableEntryBytes } from './memory-cap.ts';
import { kind, nameBytes, section, Sections } from './sections.ts';
import { Reader, signed, unsigned, Writer } from './wasm-binary.ts';

/** What a core module calls in the host besides the imports of its own, as it imports them from {@link hookModule}. */
export interface Hooks {
  /**
   * Called before a memory or a table grows by so many pages or entries, with the bytes of one. Returns how many it may
   * grow by: `delta`, or -1 for none.
   */
  grow(delta: number, bytesEach: number): number;
  /** Called now and then while a module with `calls` computes. Returns 1 when it must trap, else 0. */
  isOver(): number;
}

export const hookModule = 'aana:hooks';
/** Where the shared memory has the number that is odd when the guest on the thread must trap. */
export const stopCell = 2;

/**
 * How a module finds out that it must trap. `cell`: it reads the number at {@link stopCell} of a memory that the host's
 * threads share, and traps when that is odd. `calls`: it calls `isOver` now and then, which costs several times as
 * much, for a library that gives a module no memories. `never`: it does not.
 */
export type Interrupts = 'cell' | 'calls' | 'never';

export interface HookOptions {
  readonly interrupts: Interrupts;
}

/**
 * Steps between two calls of `isOver`. A step is a pass through the head of a loop, a call of a function, or {@link
 * straightBytes} of code: microseconds at most, and a nanosecond as a rule, so that a call comes every tenth of a
 * millisecond and costs a thousandth.
 */
const stepsBetweenLooks = 1 << 16;
/**
 * A function counts its loops' passes in a local variable, which lies in a register, and pays for so many at a time. A
 * power of two.
 */
const passesAtOnce = 32;
/** Bytes of code without a branch back after which a step is counted. */
const straightBytes = 1024;
/**
 * A call counts as so many bytes of its caller. A function that is no longer, calls none and has no loop counts no step
 * of its own.
 */
const callBytes = 128;
/** A fill or copy of more bytes or entries than this asks `isOver` at once: it takes as long as many steps. */
const longRun = 1 << 15;

const i32 = 0x7f;
const functionType = 0x60;
const noResult = 0x40;
/** How a load says that it is of a number of 32 bits, and of which memory. */
const alignedInMemory = 0x42;

/** The numbers of what is added to a module. */
interface Added {
  readonly grow: number;
  readonly look: number;
  readonly spend: number;
  /** The variable with the steps that are left. */
  readonly steps: number;
  /** The memory with the cell: it comes after the module's own. */
  readonly memory: number;
  renumber(index: number): number;
}

/**
 * The core module with what {@link Hooks} need. With `cell` it is not whole yet: `importMemories` gives it the memory
 * that it reads. Throws a RangeError when it has instructions that are not known.
 */
export function addHooks(module: Uint8Array<ArrayBuffer>, { interrupts }: HookOptions): Uint8Array<ArrayBuffer> {
  const sections = new Sections(module);
  const code = sections.body(section.code);
  if (code === undefined) return module;
  const imported = sections.importCounts();
  const parameters = parameterCounts(sections);
  const types = functionTypes(sections);

  const growType = parameters.length;
  const [isOverType, plainType] = [growType + 1, growType + 2];
  sections.append(section.type, [
    [functionType, 2, i32, i32, 1, i32],
    [functionType, 0, 1, i32],
    [functionType, 0, 0],
  ]);
  const importOf = (name: string, type: number): number[] => [
    ...nameBytes(hookModule),
    ...nameBytes(name),
    kind.function,
    ...unsigned(type),
  ];
  const isCalling = interrupts === 'calls';
  const imports = [importOf('grow', growType), ...(isCalling ? [importOf('isOver', isOverType)] : [])];
  sections.append(section.import, imports);
  const renumber = (index: number): number => (index >= imported.function ? index + imports.length : index);
  renumberFunctions(sections, renumber);
  const firstAdded = imported.function + imports.length + types.length;
  const added: Added = {
    grow: imported.function,
    look: firstAdded,
    spend: firstAdded + 1,
    steps: imported.global + sections.count(section.global),
    memory: imported.memory + sections.count(section.memory),
    renumber,
  };
  const functions: Uint8Array[] = [];
  if (isCalling) {
    sections.append(section.function, [unsigned(plainType), unsigned(plainType)]);
    sections.append(section.global, [[i32, 1, op.i32Const, ...signed(stepsBetweenLooks), op.end]]);
    functions.push(lookFunction(imported.function + 1, added), spendFunction(added));
  }

  const reader = new Reader(code, 0);
  const count = reader.unsigned();
  const writer = new Writer();
  writer.unsigned(count + functions.length);
  for (let n = 0; n < count; n++) {
    const end = reader.unsigned() + reader.offset;
    const body = new FunctionBody(
      code.subarray(reader.offset, end),
      parameters[types[n]!] ?? 0,
      added,
      interrupts,
    ).rewritten();
    writer.unsigned(body.length);
    writer.copy(body);
    reader.offset = end;
  }
  for (const body of functions) {
    writer.unsigned(body.length);
    writer.copy(body);
  }
  sections.put(section.code, writer.written());
  sections.dropCustom();
  return sections.bytes();
}

/** Asks whether the guest is over; there are steps again when it is not. */
function lookFunction(isOver: number, { steps }: Added): Uint8Array {
  return Uint8Array.from([
    ...[0, op.call, ...unsigned(isOver), op.if, noResult, op.unreachable, op.end],
    ...[op.i32Const, ...signed(stepsBetweenLooks), op.globalSet, ...unsigned(steps), op.end],
  ]);
}

/** Pays for the next passes through loops. */
function spendFunction({ steps, look }: Added): Uint8Array {
  return Uint8Array.from([
    ...[
      0,
      op.globalGet,
      ...unsigned(steps),
      op.i32Const,
      ...signed(passesAtOnce),
      op.i32Sub,
      op.globalSet,
      ...unsigned(steps),
    ],
    ...[
      op.globalGet,
      ...unsigned(steps),
      op.i32Const,
      0,
      op.i32LtS,
      op.if,
      noResult,
      op.call,
      ...unsigned(look),
      op.end,
      op.end,
    ],
  ]);
}

/** Instructions that take as long as their last operand says. */
const longInstructions: ReadonlySet<number> = new Set([
  op.memoryInit,
  op.memoryCopy,
  op.memoryFill,
  op.tableInit,
  op.tableCopy,
  op.tableFill,
]);
const indirectCalls: ReadonlySet<number> = new Set([
  op.callIndirect,
  op.returnCallIndirect,
  op.callRef,
  op.returnCallRef,
]);
const directCalls: ReadonlySet<number> = new Set([op.call, op.returnCall, op.refFunc]);

type Change = 'renumber' | 'loop' | 'straight' | 'long' | 'grow-memory' | 'grow-table';

/** One function's code, with the hooks' calls in it. */
class FunctionBody {
  readonly #code: Uint8Array;
  readonly #added: Added;
  readonly #interrupts: Interrupts;
  readonly #writer = new Writer();
  readonly #changes: { readonly what: Change; readonly start: number; readonly end: number }[] = [];
  readonly #groupCount: number;
  readonly #groupsStart: number;
  readonly #start: number;
  /** The first local variable that is added: counts passes, or keeps an operand. */
  readonly #local: number;
  #isLeaf = true;
  #hasLoop = false;

  constructor(code: Uint8Array, parameters: number, added: Added, interrupts: Interrupts) {
    this.#code = code;
    this.#added = added;
    this.#interrupts = interrupts;
    const reader = new Reader(code, 0);
    this.#groupCount = reader.unsigned();
    this.#groupsStart = reader.offset;
    let locals = parameters;
    for (let left = this.#groupCount; left > 0; left--) {
      locals += reader.unsigned();
      skipType(reader);
    }
    this.#local = locals;
    this.#start = reader.offset;
    this.#find(reader);
  }

  rewritten(): Uint8Array {
    const writer = this.#writer;
    const isLooking =
      this.#interrupts !== 'never' && !(this.#isLeaf && !this.#hasLoop && this.#code.length <= callBytes);
    const hasVariables =
      this.#interrupts === 'calls' && (isLooking || this.#changes.some(({ what }) => what !== 'renumber'));
    writer.unsigned(this.#groupCount + (hasVariables ? 1 : 0));
    writer.copy(this.#code.subarray(this.#groupsStart, this.#start));
    if (hasVariables) writer.push(2, i32);
    if (isLooking) this.#enter();
    let at = this.#start;
    for (const { what, start, end } of this.#changes) {
      writer.copy(this.#code.subarray(at, what === 'loop' ? end : start));
      this.#change(what, start, end);
      at = what === 'straight' ? start : end;
    }
    writer.copy(this.#code.subarray(at));
    return writer.written();
  }

  #find(reader: Reader): void {
    let straight = 0;
    while (!reader.atEnd) {
      const start = reader.offset;
      const code = readInstruction(reader);
      const end = reader.offset;
      const add = (what: Change): void => void this.#changes.push({ what, start, end });
      const isCall = (directCalls.has(code) && code !== op.refFunc) || indirectCalls.has(code);
      straight += isCall ? callBytes : end - start;
      if (isCall) this.#isLeaf = false;
      if (this.#interrupts === 'calls' && straight >= straightBytes) {
        this.#changes.push({ what: 'straight', start, end: start });
        straight = 0;
      }
      if (directCalls.has(code)) add('renumber');
      else if (code === op.memoryGrow) add('grow-memory');
      else if (code === op.tableGrow) add('grow-table');
      else if (code === op.loop && this.#interrupts !== 'never') {
        add('loop');
        this.#hasLoop = true;
        straight = 0;
      } else if (longInstructions.has(code) && this.#interrupts !== 'never') add('long');
    }
  }

  #change(what: Change, start: number, end: number): void {
    const writer = this.#writer;
    const original = this.#code.subarray(start, end);
    switch (what) {
      case 'renumber':
        writer.push(original[0]!, ...unsigned(this.#added.renumber(new Reader(original, 1).unsigned())));
        return;
      case 'grow-memory':
        this.#askToGrow(pageBytes, original);
        return;
      case 'grow-table':
        this.#askToGrow(tableEntryBytes, original);
        return;
      case 'straight':
        this.#pay(1);
        return;
      case 'loop':
        if (this.#interrupts === 'cell') this.#readCell();
        else this.#countPass();
        return;
      case 'long':
        if (this.#interrupts === 'cell') this.#readCell();
        else this.#lookBeforeLongRun();
        writer.copy(original);
        return;
      default:
        what satisfies never;
    }
  }

  #askToGrow(bytesEach: number, instruction: Uint8Array): void {
    this.#writer.push(op.i32Const, ...signed(bytesEach), op.call, ...unsigned(this.#added.grow));
    this.#writer.copy(instruction);
  }

  #enter(): void {
    if (this.#interrupts === 'cell') this.#readCell();
    else this.#pay(this.#hasLoop ? passesAtOnce : 1);
  }

  /** Traps when the number in the cell is odd. Without a call in it, a loop keeps its variables in registers. */
  #readCell(): void {
    this.#writer.push(
      op.i32Const,
      ...signed(4 * stopCell),
      op.i32Load,
      alignedInMemory,
      ...unsigned(this.#added.memory),
      0,
    );
    this.#writer.push(op.i32Const, 1, op.i32And, op.if, noResult, op.unreachable, op.end);
  }

  /** Takes steps from those that are left, and looks when there are none. */
  #pay(steps: number): void {
    const left = unsigned(this.#added.steps);
    this.#writer.push(op.globalGet, ...left, op.i32Const, ...signed(steps), op.i32Sub, op.globalSet, ...left);
    this.#writer.push(
      op.globalGet,
      ...left,
      op.i32Const,
      0,
      op.i32LtS,
      op.if,
      noResult,
      op.call,
      ...unsigned(this.#added.look),
      op.end,
    );
  }

  #countPass(): void {
    const passes = unsigned(this.#local);
    this.#writer.push(
      op.localGet,
      ...passes,
      op.i32Const,
      1,
      op.i32Sub,
      op.localTee,
      ...passes,
      op.i32Const,
      ...signed(-passesAtOnce),
      op.i32LtS,
      op.if,
      noResult,
    );
    this.#writer.push(op.i32Const, 0, op.localSet, ...passes, op.call, ...unsigned(this.#added.spend), op.end);
  }

  /** The operand that says how long it takes is the last one. */
  #lookBeforeLongRun(): void {
    const operand = unsigned(this.#local + 1);
    this.#writer.push(
      op.localTee,
      ...operand,
      op.localGet,
      ...operand,
      op.i32Const,
      ...signed(longRun),
      op.i32GtU,
      op.if,
      noResult,
      op.call,
      ...unsigned(this.#added.look),
      op.end,
    );
  }
}
