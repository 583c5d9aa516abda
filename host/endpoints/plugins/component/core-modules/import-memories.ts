import { hookModule } from './hooks.ts';
import { kind, nameBytes, readLimits, section, Sections } from './sections.ts';
import { Reader, unsigned } from './wasm-binary.ts';

const cellName = 'cell';
const hasMaximum = 1;
const isShared = 2;

/**
 * Completes a module whose hooks read a cell. The memories of the module become imports and keep their indices, so that
 * the memory with the cell can come after them. The name of an import says what to create: `memory:0:2:64` is the first
 * memory, with 2 pages and at most 64.
 */
export function importMemories(module: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const sections = new Sections(module);
  if (sections.body(section.code) === undefined) return module;
  const imports: number[][] = [];
  const body = sections.body(section.memory);
  if (body) {
    const reader = new Reader(body, 0);
    const count = reader.unsigned();
    for (let n = 0; n < count; n++) {
      const { minimum, maximum } = readLimits(reader);
      if (maximum === undefined) throw new RangeError('it has a memory without a maximum');
      imports.push([
        ...nameBytes(hookModule),
        ...nameBytes(`memory:${n}:${minimum}:${maximum}`),
        kind.memory,
        hasMaximum,
        ...unsigned(minimum),
        ...unsigned(maximum),
      ]);
    }
    sections.put(section.memory, Uint8Array.of(0));
  }
  imports.push([...nameBytes(hookModule), ...nameBytes(cellName), kind.memory, hasMaximum | isShared, 1, 1]);
  sections.append(section.import, imports);
  return sections.bytes();
}

interface MemoryImport {
  readonly name: string;
  readonly initial: number;
  readonly maximum: number;
}

const known = new WeakMap<WebAssembly.Module, readonly MemoryImport[]>();

/** Returns the memories for the imports of {@link importMemories}: new ones, and the memory with the thread's cell. */
export function hookMemories(module: WebAssembly.Module, cell: WebAssembly.Memory): Record<string, WebAssembly.Memory> {
  let imports = known.get(module);
  if (!imports) known.set(module, (imports = memoryImports(module)));
  return Object.fromEntries(
    imports.map(({ name, initial, maximum }) => [
      name,
      name === cellName ? cell : new WebAssembly.Memory({ initial, maximum }),
    ]),
  );
}

function memoryImports(module: WebAssembly.Module): MemoryImport[] {
  return WebAssembly.Module.imports(module)
    .filter(({ module: from, kind: what }) => from === hookModule && what === 'memory')
    .map(({ name }) => {
      const [initial = 0, maximum = 0] = name.split(':').slice(2).map(Number);
      return { name, initial, maximum };
    });
}
