import type { Outcome, WitEndpoint, WitError } from '../invocation/protocol.ts';
import { hookModule, type Hooks } from '../component/core-modules/hooks.ts';
import { hookMemories } from '../component/core-modules/import-memories.ts';
import type { Bridge, Invocation } from './bridge.ts';
import { hostImports, writeLog } from './imports.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { restoreMemory, type SavedMemory, saveMemory } from './saved-memory.ts';
import { denyAllWasi } from './wasi.ts';

/** What runs one invocation at a time. */
export interface Guest {
  /** Runs an invocation that is marked as running, until it ends or waits. */
  run(invocation: Invocation): Promise<Outcome>;
  /** Makes it as new after an invocation that did not trap. False when it must be thrown away instead. */
  reset(invocation: Invocation): boolean;
  /** It is not used any more. */
  release(): void;
}

/** What the generated glue module exports. */
export interface Glue {
  instantiate(
    getCoreModule: (file: string) => WebAssembly.Module,
    imports: Record<string, unknown>,
    instantiateCore: (module: WebAssembly.Module, imports: Record<string, unknown>) => WebAssembly.Instance,
  ): { readonly endpoint: { describe(): WitEndpoint[]; run(name: string, input: string): string | Promise<string> } };
}

/** The state of a component right after `describe`: what every invocation begins with. Shared by all instances. */
export interface Snapshot {
  readonly memories: readonly SavedMemory[];
  readonly globals: readonly unknown[];
}

/** An instance that has grown beyond this many times its first size is not used again: memory never shrinks. */
const maxGrowth = 4;
const maxUses = 10_000;
/** Characters of an invocation's standard output and error that are looked at. */
const maxPrinted = 16_384;
const pageBytes = 65_536;

/** What instances are made of. */
export interface InstanceOptions {
  readonly glue: Glue;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  readonly bridge: Bridge;
  /** The memory with the thread's cells. */
  readonly control: WebAssembly.Memory;
  readonly memory: InstanceMemory;
  /** Whether bringing the snapshot back makes it as new. */
  readonly isRestorable: boolean;
  /** Of the first instance; undefined for that one. */
  readonly snapshot: Snapshot | undefined;
}

/** One instance of the component; runs one invocation at a time. */
export class GuestInstance implements Guest {
  readonly endpoints: readonly WitEndpoint[];
  readonly snapshot: Snapshot;
  readonly #endpoint: ReturnType<Glue['instantiate']>['endpoint'];
  readonly #bridge: Bridge;
  readonly #memory: InstanceMemory;
  readonly #isRestorable: boolean;
  readonly #memories: WebAssembly.Memory[] = [];
  readonly #globals: WebAssembly.Global[] = [];
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
    const known = hostImports(bridge, () => {
      if (!this.#invocation) throw new Error('the host can be called from `run` only');
      return this.#invocation;
    });
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
    this.snapshot = snapshot ?? this.#take();
    if (snapshot) this.#restore();
  }

  /** Runs the guest to its end. The instance is then as new if {@link reset} says so. */
  async run(invocation: Invocation): Promise<Outcome> {
    this.#invocation = invocation;
    invocation.memory = this.#memory;
    this.#printed = '';
    this.#uses++;
    try {
      // Awaited only where it is a promise: a blocking bridge must not let other messages in between.
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
   * Brings the snapshot's state back, after an invocation that did not trap. False when the instance must be thrown
   * away instead.
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

  /**
   * A guest prints when its language runtime panics, with the stack; and what runtimes print besides is of no use here.
   */
  #print(text: string): void {
    if (text.includes('RUST_BACKTRACE')) return;
    if (this.#printed.length >= maxPrinted) return;
    this.#printed += text;
    writeLog(this.#bridge, this.#invocation, 'warn', 'plugin printed', JSON.stringify({ text: text.trim() }));
  }

  /** What the guest printed as it died says more than the trap. */
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

/** The glue throws the WIT error as it is; traps are `Error`s. */
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
