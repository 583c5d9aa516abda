import { op, readInstruction, skipType } from './instructions.ts';
import { kind, nameBytes, section, Sections } from './sections.ts';
import { Reader, unsigned } from './wasm-binary.ts';

/**
 * Returns the core module with all of its memories and variables among its exports, as `aana:memory:0` and so on. The
 * host saves and restores a guest's state through exports, and compilers do not export some of it, such as the stack
 * pointer or the pointer to the memory of WASI's adapter.
 */
export function exposeState(module: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const sections = new Sections(module);
  const imported = sections.importCounts();
  const exports = [
    ...Array.from({ length: sections.count(section.memory) }, (_, n) => exportOf('memory', imported.memory + n)),
    ...definedVariables(sections, imported.global).map((index) => exportOf('global', index)),
  ];
  if (exports.length === 0) return module;
  sections.append(section.export, exports);
  return sections.bytes();
}

function exportOf(what: 'memory' | 'global', index: number): number[] {
  return [...nameBytes(`aana:${what}:${index}`), kind[what], ...unsigned(index)];
}

function definedVariables(sections: Sections, first: number): number[] {
  const body = sections.body(section.global);
  if (body === undefined) return [];
  const found: number[] = [];
  const reader = new Reader(body, 0);
  const count = reader.unsigned();
  for (let n = 0; n < count; n++) {
    skipType(reader);
    const isMutable = reader.byte() === 1;
    while (readInstruction(reader) !== op.end);
    if (isMutable) found.push(first + n);
  }
  return found;
}
