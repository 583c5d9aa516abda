/** Most tables of a module. Each of them has a limit of its own. */
const maxTables = 16;
const headerBytes = 8; // magic and version
const section = { type: 1, table: 4, memory: 5 } as const;
const [isShared, is64Bit] = [2, 4];
const functionType = 0x60;
/** Types of values that another number follows: references to a type, with and without null. */
const typedReferences: readonly number[] = [0x63, 0x64];
const pageBytes = 65_536;

/**
 * Compiles a module. It may have one memory with addresses of 32 bits, and a few tables, because V8's flags limit each
 * of them. Throws for others, for a memory that is larger than `memoryBytes` from the start, and for what V8 refuses.
 * Also throws for a shared memory, in which a guest could wait without end, and for structures and arrays: they lie in
 * V8's heap, and V8 aborts the process when a large one does not fit.
 */
export async function compileModule(
  bytes: Uint8Array<ArrayBuffer>,
  memoryBytes = Number.POSITIVE_INFINITY,
): Promise<WebAssembly.Module> {
  const module = await WebAssembly.compile(bytes);
  // V8 has checked that the numbers are there.
  if (!hasOnlyFunctionTypes(bytes)) throw new Error('it has types other than functions');
  const memory = numbersOf(bytes, section.memory);
  const [memories, kind, initialPages] = [memory(), memory(), memory()];
  if (memories > 1 || (kind & is64Bit) !== 0)
    throw new Error('it has several memories, or one with addresses of 64 bits');
  if ((kind & isShared) !== 0) throw new Error('its memory is shared');
  if (initialPages * pageBytes > memoryBytes)
    throw new Error(`it needs ${initialPages * pageBytes} bytes of memory at once, the limit is ${memoryBytes}`);
  if (numbersOf(bytes, section.table)() > maxTables) throw new Error(`it has more than ${maxTables} tables`);
  return module;
}

function hasOnlyFunctionTypes(module: Uint8Array): boolean {
  const next = numbersOf(module, section.type);
  for (let types = next(); types > 0; types--) {
    if (next() !== functionType) return false;
    for (const _ of ['parameters', 'results'])
      for (let values = next(); values > 0; values--) if (typedReferences.includes(next())) next();
  }
  return true;
}

/** Returns what reads the numbers of a section of a valid module, one after the other. After them, it returns 0. */
function numbersOf(module: Uint8Array, id: number): () => number {
  let at = headerBytes;
  const number = (): number => {
    let value = 0;
    for (let bits = 0, byte = 0x80; byte >= 0x80; bits += 7) {
      byte = module[at++]!;
      value += (byte & 0x7f) * 2 ** bits;
    }
    return value;
  };
  while (at < module.length) {
    const found = number();
    const end = number() + at;
    if (found === id) return () => (at < end ? number() : 0);
    at = end;
  }
  return () => 0;
}
