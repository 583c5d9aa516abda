import { functionTypes, parameterCounts } from './function-types.ts';
import { renumberFunctions } from './function-indices.ts';
import { op, readInstruction, skipType } from './instructions.ts';
import { pageBytes, tableEntryBytes } from './memory-cap.ts';
import { kind, nameBytes, section, Sections } from './sections.ts';
import { Reader, signed, unsigned, Writer } from './wasm-binary.ts';

/**
 * Functions of the host that a core module calls in addition to its own imports. The module imports them from {@link
 * hookModule}.
 */
export interface Hooks {
  /**
   * Called before a memory or a table grows by `delta` pages or entries of `bytesEach` bytes. Returns `delta`, or -1 to
   * refuse.
   */
  grow(delta: number, bytesEach: number): number;
  /**
   * Called from time to time while a module with `calls` computes. Returns 1 when the module must trap, otherwise 0.
   */
  isOver(): number;
}

export const hookModule = 'aana:hooks';
/** The cell of the shared memory whose number is odd when the guest on the thread must trap. */
export const stopCell = 2;

/**
 * How a module notices that it must trap. `cell`: it reads the number at {@link stopCell} of a memory that the host's
 * threads share, and traps when the number is odd. `calls`: it calls `isOver` from time to time, which costs several
 * times as much, for a library that gives a module no memories. `never`: it does not.
 */
export type Interrupts = 'cell' | 'calls' | 'never';

export interface HookOptions {
  readonly interrupts: Interrupts;
}

/**
 * Steps between two calls of `isOver`. A step is a pass through the head of a loop, a call of a function, or {@link
 * straightBytes} of code. It takes microseconds at most and usually a nanosecond, so a call happens every tenth of a
 * millisecond and costs a thousandth of the time.
 */
const stepsBetweenLooks = 1 << 16;
/**
 * Passes through loops that a function counts in a local variable before it updates the shared count, because a local
 * variable lies in a register. A power of two.
 */
const passesAtOnce = 32;
/** Bytes of code without a branch back after which a step is counted. */
const straightBytes = 1024;
/**
 * Bytes of the caller that a call counts as. A function that is no longer than this, calls nothing and has no loop
 * counts no step.
 */
const callBytes = 128;
/**
 * A fill or copy of more bytes or entries than this calls `isOver` immediately, because it takes as long as many steps.
 */
const longRun = 1 << 15;

const i32 = 0x7f;
const functionType = 0x60;
const noResult = 0x40;
/** The immediates of a load of 32 bits from a given memory. */
const alignedInMemory = 0x42;

/** The indices of the parts that are added to a module. */
interface Added {
  readonly grow: number;
  readonly look: number;
  readonly spend: number;
  /** The variable with the remaining steps. */
  readonly steps: number;
  /** The memory with the cell. It comes after the module's own memories. */
  readonly memory: number;
  renumber(index: number): number;
}

/**
 * Returns the core module with {@link Hooks}. With `cell` it is incomplete: `importMemories` adds the memory that it
 * reads. Throws a RangeError for unknown instructions.
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

/** Calls `isOver` and renews the steps when the guest may go on. */
function lookFunction(isOver: number, { steps }: Added): Uint8Array {
  return Uint8Array.from([
    ...[0, op.call, ...unsigned(isOver), op.if, noResult, op.unreachable, op.end],
    ...[op.i32Const, ...signed(stepsBetweenLooks), op.globalSet, ...unsigned(steps), op.end],
  ]);
}

/** Takes the steps for the next passes through loops. */
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

/** Instructions whose duration depends on their last operand. */
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

/** Rewrites the code of one function with the calls of the hooks. */
class FunctionBody {
  readonly #code: Uint8Array;
  readonly #added: Added;
  readonly #interrupts: Interrupts;
  readonly #writer = new Writer();
  readonly #changes: { readonly what: Change; readonly start: number; readonly end: number }[] = [];
  readonly #groupCount: number;
  readonly #groupsStart: number;
  readonly #start: number;
  /** The first added local variable. It counts passes or keeps an operand. */
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

  /** Adds a trap for an odd number in the cell. Without a call in it, a loop keeps its variables in registers. */
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

  /** Takes steps, and calls `isOver` when none remain. */
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

  /** Adds a check before an instruction whose last operand decides about its duration. */
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
