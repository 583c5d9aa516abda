/** The part of the global `WebAssembly` that is used. Node's own declarations lack it. */
declare namespace WebAssembly {
  type Module = object;
  const Module: {
    new (bytes: Uint8Array): Module;
    exports(module: Module): { name: string; kind: string }[];
    imports(module: Module): ModuleImportDescriptor[];
  };
  interface ModuleImportDescriptor {
    module: string;
    name: string;
    kind: string;
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    /** In pages of 64 KiB. */
    constructor(pages: { readonly initial: number; readonly maximum: number });
    readonly buffer: ArrayBuffer;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
