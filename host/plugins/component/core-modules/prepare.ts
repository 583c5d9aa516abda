import { exposeState } from './expose-state.ts';
import { hiddenState } from './hidden-state.ts';
import { addHooks, type HookOptions } from './hooks.ts';
import { type InitialMemory, initialMemory } from './memory-cap.ts';

/** What is known of a core module besides its code. */
export interface ModuleFacts {
  readonly initial: InitialMemory;
  /** What it does to its state that cannot be undone, by the name of the instruction; null when there is nothing. */
  readonly hiddenState: string | null;
}

export interface PreparedModule extends ModuleFacts {
  /** The code with the host's hooks, and with its state among its exports. */
  readonly code: Uint8Array<ArrayBuffer>;
}

/** Makes a core module of a plugin ready for the cache. Throws a RangeError when the plugin cannot have it. */
export function prepareModule(module: Uint8Array<ArrayBuffer>, options: HookOptions): PreparedModule {
  // Code that names a memory which the module does not have could name the host's afterwards.
  if (options.interrupts === 'cell' && !WebAssembly.validate(module))
    throw new RangeError('it is not valid WebAssembly, or newer than this Node');
  return {
    code: addHooks(exposeState(module), options),
    initial: initialMemory(module),
    hiddenState: hiddenState(module) ?? null,
  };
}
