/** The part of the global `WebAssembly` that the plugin runtime uses. Node's own declarations lack it. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static exports(module: Module): { name: string; kind: string }[];
    static imports(module: Module): ModuleImportDescriptor[];
  }
  interface ModuleImportDescriptor {
    module: string;
    name: string;
    kind: string;
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, unknown>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number; shared?: boolean });
    /** A `SharedArrayBuffer` for a shared memory. */
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Global {
    constructor(descriptor: { value: string; mutable?: boolean }, initial?: unknown);
    value: unknown;
  }
  class RuntimeError extends Error {}
  class CompileError extends Error {}
  function compile(bytes: Uint8Array): Promise<Module>;
  function validate(bytes: Uint8Array): boolean;
  /** Absent before Node 24. */
  let Suspending: (new (fn: (...args: never[]) => Promise<unknown>) => unknown) | undefined;
  /** Absent before Node 24. */
  let promising: ((fn: unknown) => unknown) | undefined;
}
