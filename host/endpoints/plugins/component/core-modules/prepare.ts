import { exposeState } from './expose-state.ts';
import { hiddenState } from './hidden-state.ts';
import { addHooks, type HookOptions } from './hooks.ts';
import { type InitialMemory, initialMemory } from './memory-cap.ts';

/** Facts about a core module. */
export interface ModuleFacts {
  readonly initial: InitialMemory;
  /** The name of an instruction that changes state which cannot be restored; null when there is none. */
  readonly hiddenState: string | null;
}

export interface PreparedModule extends ModuleFacts {
  /** The code with the host's hooks and with its state among its exports. */
  readonly code: Uint8Array<ArrayBuffer>;
}

/**
 * Returns a core module of a plugin in the form for the cache. Throws a RangeError for a module that plugins cannot
 * have.
 */
export function prepareModule(module: Uint8Array<ArrayBuffer>, options: HookOptions): PreparedModule {
  // Refuses code that uses a memory that the module lacks, because that index could later be the host's memory.
  if (options.interrupts === 'cell' && !WebAssembly.validate(module))
    throw new RangeError('it is not valid WebAssembly, or newer than this Node');
  return {
    code: addHooks(exposeState(module), options),
    initial: initialMemory(module),
    hiddenState: hiddenState(module) ?? null,
  };
}
