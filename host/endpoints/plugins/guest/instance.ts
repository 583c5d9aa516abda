import type { Outcome, WitEndpoint, WitError } from '../invocation/protocol.ts';
import { hookModule, type Hooks } from '../component/core-modules/hooks.ts';
import { hookMemories } from '../component/core-modules/import-memories.ts';
import type { Bridge, Invocation } from './bridge.ts';
import { HandleTables } from './handle-tables.ts';
import { hostImports, writeLog } from './imports.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { restoreMemory, type SavedMemory, saveMemory } from './saved-memory.ts';
import { denyAllWasi } from './wasi.ts';

/** An instance that runs one invocation at a time. */
export interface Guest {
  /** Runs an invocation. The caller has marked it as running on the thread. */
  run(invocation: Invocation): Promise<Outcome>;
  /**
   * Restores the first state after an invocation that did not trap. Returns false when the instance must be thrown away
   * instead.
   */
  reset(invocation: Invocation): boolean;
  /** Releases the instance. */
  release(): void;
}

/** The exports of the generated glue module. */
export interface Glue {
  instantiate(
    getCoreModule: (file: string) => WebAssembly.Module,
    imports: Record<string, unknown>,
    instantiateCore: (module: WebAssembly.Module, imports: Record<string, unknown>) => WebAssembly.Instance,
  ): { readonly endpoint: { describe(): WitEndpoint[]; run(name: string, input: string): string | Promise<string> } };
}

/** The state of a component after `describe`, with which every invocation begins. All instances share it. */
export interface Snapshot {
  readonly memories: readonly SavedMemory[];
  readonly globals: readonly unknown[];
}

/**
 * An instance that has grown beyond this multiple of its first size is not used again, because memory never shrinks.
 */
const maxGrowth = 4;
const maxUses = 10_000;
/** Maximum characters of standard output and error that are kept for one invocation. */
const maxPrinted = 16_384;
const pageBytes = 65_536;

/** The parts of an instance. */
export interface InstanceOptions {
  readonly glue: Glue;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  readonly bridge: Bridge;
  /** The shared memory with the cells of the thread. */
  readonly control: WebAssembly.Memory;
  readonly memory: InstanceMemory;
  /** Whether restoring memories, variables and handles resets the instance completely. */
  readonly isRestorable: boolean;
  /** The snapshot of the first instance. Undefined for the first instance itself. */
  readonly snapshot: Snapshot | undefined;
}

/** One instance of the component. It runs one invocation at a time. */
export class GuestInstance implements Guest {
  readonly endpoints: readonly WitEndpoint[];
  readonly snapshot: Snapshot;
  readonly #endpoint: ReturnType<Glue['instantiate']>['endpoint'];
  readonly #bridge: Bridge;
  readonly #memory: InstanceMemory;
  readonly #isRestorable: boolean;
  readonly #memories: WebAssembly.Memory[] = [];
  readonly #globals: WebAssembly.Global[] = [];
  readonly #handles = new HandleTables();
  #invocation: Invocation | undefined;
  #printed = '';
  #uses = 0;

  constructor({ glue, modules, bridge, control, memory, isRestorable, snapshot }: InstanceOptions) {
    this.#bridge = bridge;
    this.#memory = memory;
    this.#isRestorable = isRestorable;
    const hooks: Hooks = {
      grow: (delta, bytesEach) => memory.grow(delta, bytesEach),
      isOver: () => Number(bridge.isStopped),
    };
    const wasi = denyAllWasi((text) => this.#print(text));
    const offered = hostImports(bridge, () => {
      if (!this.#invocation) throw new Error('the host can be called from `run` only');
      return this.#invocation;
    });
    const known: Record<string, object> = { ...offered, [hookModule]: this.#handles };
    const imports = new Proxy(known, { get: (own, name) => own[String(name)] ?? wasi(String(name)) });
    const guest = glue.instantiate(
      (file) => modules[file]!,
      imports,
      (module, needs) => {
        const instance = new WebAssembly.Instance(module, {
          ...needs,
          [hookModule]: { ...hooks, ...hookMemories(module, control) },
        });
        this.#collectState(instance);
        return instance;
      },
    );
    this.#endpoint = guest.endpoint;
    try {
      this.endpoints = this.#endpoint.describe();
    } catch (error) {
      const said = this.#lastWords();
      throw new Error(said === undefined ? messageOf(error) : `${said} (${messageOf(error)})`, { cause: error });
    }
    this.#handles.save();
    this.snapshot = snapshot ?? this.#take();
    if (snapshot) this.#restore();
  }

  /** Runs the guest to its end. Call {@link reset} before the next invocation. */
  async run(invocation: Invocation): Promise<Outcome> {
    this.#invocation = invocation;
    invocation.memory = this.#memory;
    this.#printed = '';
    this.#uses++;
    try {
      // Awaits only promises, because an await would let other messages in while a blocking bridge runs.
      const returned = this.#endpoint.run(invocation.endpoint, invocation.input);
      return { state: 'returned', json: typeof returned === 'string' ? returned : await returned };
    } catch (error) {
      if (this.#bridge.isStopped) return { state: 'stopped' };
      if (isWitError(error)) return { state: 'failed', error };
      return { state: 'trapped', reason: messageOf(error), said: this.#lastWords() };
    } finally {
      this.#bridge.leave();
      this.#invocation = undefined;
    }
  }

  /**
   * Restores the snapshot after an invocation that did not trap. Returns false when the instance must be thrown away
   * instead.
   */
  reset(invocation: Invocation): boolean {
    if (!this.#isRestorable || invocation.held.size > 0 || this.#uses >= maxUses) return false;
    const grown = this.#memories.some(
      (memory, n) => memory.buffer.byteLength > maxGrowth * (this.snapshot.memories[n]?.bytes ?? 0),
    );
    if (grown) return false;
    this.#restore();
    return true;
  }

  release(): void {
    this.#memory.release();
  }

  #collectState(instance: WebAssembly.Instance): void {
    for (const exported of Object.values(instance.exports)) {
      if (exported instanceof WebAssembly.Memory && !this.#memories.includes(exported)) this.#memories.push(exported);
      else if (exported instanceof WebAssembly.Global && !this.#globals.includes(exported) && isMutable(exported))
        this.#globals.push(exported);
    }
  }

  #take(): Snapshot {
    return {
      memories: this.#memories.map((memory) => saveMemory(new Uint8Array(memory.buffer))),
      globals: this.#globals.map((global) => global.value),
    };
  }

  #restore(): void {
    this.#handles.restore();
    this.#memories.forEach((memory, n) => {
      const saved = this.snapshot.memories[n]!;
      const missing = saved.bytes - memory.buffer.byteLength;
      if (missing > 0) memory.grow(missing / pageBytes);
      restoreMemory(new Uint8Array(memory.buffer), saved);
    });
    this.#globals.forEach((global, n) => {
      global.value = this.snapshot.globals[n];
    });
  }

  /** Logs what a guest prints. Language runtimes print the stack of a panic. Other output has no use here. */
  #print(text: string): void {
    if (text.includes('RUST_BACKTRACE')) return;
    if (this.#printed.length >= maxPrinted) return;
    this.#printed += text;
    writeLog(this.#bridge, this.#invocation, 'warn', 'plugin printed', JSON.stringify({ text: text.trim() }));
  }

  /** Returns the last message that the guest printed, because it says more than the trap. */
  #lastWords(): string | undefined {
    return (
      /message: Some\("((?:[^"\\]|\\.)*)"\)/.exec(this.#printed)?.[1] ??
      (this.#printed.trim().split('\n')[0] || undefined)
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isMutable(global: WebAssembly.Global): boolean {
  try {
    const { value } = global;
    global.value = value;
    return true;
  } catch {
    return false;
  }
}

/** Whether the thrown value is a WIT error. The glue throws WIT errors as plain records, and traps as `Error`. */
function isWitError(thrown: unknown): thrown is WitError {
  return (
    typeof thrown === 'object' &&
    thrown !== null &&
    !(thrown instanceof Error) &&
    'kind' in thrown &&
    'name' in thrown &&
    'message' in thrown
  );
}
