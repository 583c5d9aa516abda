/** The part of the global `WebAssembly` that Extism plugins need. Node's own declarations lack it. */
declare namespace WebAssembly {
  type Module = object;
  const Module: {
    exports(module: Module): { name: string; kind: string }[];
    imports(module: Module): ModuleImportDescriptor[];
  };
  interface ModuleImportDescriptor {
    module: string;
    name: string;
    kind: string;
  }
  interface Instance {
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
