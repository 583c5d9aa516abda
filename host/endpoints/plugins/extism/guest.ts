import { createPlugin, type CallContext, type Plugin } from 'extism';
import * as z from 'zod/mini';
import { requireShallowError } from '../invocation/border.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { Outcome, RuntimeMode, WitEndpoint, WitError } from '../invocation/protocol.ts';
import { hookModule } from '../component/core-modules/hooks.ts';
import type { Bridge, Invocation } from '../guest/bridge.ts';
import { writeLog } from '../guest/imports.ts';
import { InstanceMemory, type PluginMemory } from '../guest/instance-memory.ts';
import type { Guest } from '../guest/instance.ts';
import { Blocks } from './blocks.ts';
import { type HostFunction, hostFunctions } from './host-functions.ts';
import { exportOf } from './interface.ts';

const Endpoints = z.array(
  z.strictObject({
    name: z.string(),
    path: z.string(),
    summary: z._default(z.string(), ''),
    description: z._default(z.string(), ''),
    input_schema: z.record(z.string(), z.unknown()),
    output_schema: z._default(z.record(z.string(), z.unknown()), {}),
    streaming: z._default(z.boolean(), false),
  }),
);
const errorKinds = [
  'invalid-input',
  'bad-request',
  'denied',
  'not-found',
  'conflict',
  'too-large',
  'unavailable',
  'deadline-exceeded',
  'cancelled',
  'internal',
] as const;
const GuestError = z.object({
  kind: z.enum(errorKinds),
  name: z.string(),
  message: z.string(),
  data: z.optional(z.unknown()),
});

/** Extism's library puts this before the message of an error that the guest sets. */
const errorPrefix = 'Plugin-originated error: ';
const maxAbortChars = 4_096;

export interface ExtismGuestOptions {
  readonly module: WebAssembly.Module;
  readonly mode: RuntimeMode;
  readonly bridge: Bridge;
  readonly memory: PluginMemory;
  /** Bytes of a new instance. */
  readonly initialBytes: number;
}

/** An Extism plugin. Each run gets a new instance, which takes a fraction of a millisecond to create. */
export class ExtismGuest implements Guest {
  readonly #options: ExtismGuestOptions;
  readonly #imported: ReadonlySet<string>;
  readonly #exported: ReadonlySet<string>;

  constructor(options: ExtismGuestOptions) {
    this.#options = options;
    this.#imported = new Set(WebAssembly.Module.imports(options.module).map(({ module, name }) => `${module} ${name}`));
    this.#exported = new Set(
      WebAssembly.Module.exports(options.module)
        .filter(({ kind }) => kind === 'function')
        .map(({ name }) => name),
    );
  }

  async describe(): Promise<readonly WitEndpoint[]> {
    const memory = this.#newMemory();
    const output = await this.#instantiate(undefined, memory)
      .then((plugin) => plugin.call('describe'))
      .finally(() => memory.release());
    const parsed = Endpoints.safeParse(parsedJson(output?.text() ?? 'null'));
    if (!parsed.success)
      throw new Error(`"describe" does not return a list of endpoints: ${z.prettifyError(parsed.error)}`);
    for (const { name } of parsed.data) {
      if (!this.#exported.has(exportOf(name)) || name === 'describe')
        throw new Error(`the endpoint "${name}" has no exported function "${exportOf(name)}"`);
    }
    return parsed.data.map(({ input_schema: input, output_schema: output, ...rest }) => ({
      ...rest,
      inputSchema: JSON.stringify(input),
      outputSchema: JSON.stringify(output),
    }));
  }

  async run(invocation: Invocation): Promise<Outcome> {
    const name = exportOf(invocation.endpoint);
    if (!this.#exported.has(name))
      return {
        state: 'failed',
        error: {
          kind: 'not-found',
          name: 'HelperNotFound',
          message: `the plugin exports no function "${name}"`,
          data: '{}',
        },
      };
    const { bridge } = this.#options;
    const memory = (invocation.memory = this.#newMemory());
    // Only calls of the guest wait below, so no other guest occupies the thread before `leave`.
    try {
      const plugin = await this.#instantiate(invocation, memory);
      const output = await plugin.call(name, invocation.input);
      return { state: 'returned', json: output?.text() || 'null' };
    } catch (error) {
      if (bridge.isStopped) return { state: 'stopped' };
      const message = error instanceof Error ? error.message : String(error);
      if (message.startsWith(errorPrefix))
        return { state: 'failed', error: guestError(message.slice(errorPrefix.length)) };
      return { state: 'trapped', reason: message };
    } finally {
      bridge.leave();
      memory.release();
    }
  }

  reset(): boolean {
    return true; // a run leaves no state
  }

  release(): void {}

  #newMemory(): InstanceMemory {
    return new InstanceMemory(this.#options.memory, this.#options.initialBytes);
  }

  async #instantiate(invocation: Invocation | undefined, ownMemory: InstanceMemory): Promise<Plugin> {
    const { module, bridge, mode } = this.#options;
    const memoryBytes = this.#options.memory.limits.instance;
    const blocks = new Blocks(memoryBytes);
    let memory: WebAssembly.Memory | undefined;
    const current = (): Invocation => {
      if (!invocation) throw new Error('the host can be called from endpoints only');
      return invocation;
    };
    const { waiting, others } = hostFunctions(bridge, current, blocks, (pointer, length) => {
      if (!memory) throw new Error('the memory does not exist yet');
      return new Uint8Array(memory.buffer, Number(pointer), length);
    });
    const suspendable =
      mode === 'suspending'
        ? Object.fromEntries(Object.entries(waiting).map(([name, fn]) => [name, suspending(fn)]))
        : waiting;
    const user = Object.fromEntries(
      Object.entries({ ...suspendable, ...others }).filter(([name]) => this.#imported.has(`extism:host/user ${name}`)),
    );
    const log = (level: 'debug' | 'info' | 'warn' | 'error') => (text: string) =>
      writeLog(bridge, invocation, level, text, '');
    const plugin = await createPlugin(
      { wasm: [{ module }] },
      {
        functions: {
          'extism:host/env': { alloc: (context: CallContext, bytes: bigint) => blocks.alloc(context, bytes) },
          'extism:host/user': user,
          [hookModule]: {
            grow: (_: CallContext, delta: number, bytesEach: number) => ownMemory.grow(delta, bytesEach),
            isOver: () => Number(bridge.isStopped),
          },
          env: {
            abort: (_: CallContext, message: number, file: number, line: number, column: number) => {
              throw new Error(`${textAt(memory, message) || 'abort'} (${textAt(memory, file)}:${line}:${column})`);
            },
            seed: () => Math.random(),
            'Date.now': () => Date.now(),
          },
        },
        config: Object.create(null) as Record<string, string>, // without inherited keys
        memory: { maxVarBytes: memoryBytes },
        logger: {
          trace: log('debug'),
          debug: log('debug'),
          info: log('info'),
          warn: log('warn'),
          error: log('error'),
        } as unknown as Console,
        logLevel: 'trace',
        useWasi: false,
        enableWasiOutput: false,
        allowedHosts: [],
        allowedPaths: {},
        fetch: () => Promise.reject(new Error('requests go through http_fetch')),
      },
    );
    const { memory: exported } = (await plugin.getInstance()).exports;
    if (exported instanceof WebAssembly.Memory) memory = exported;
    return plugin;
  }
}

/** Makes a function async, because Extism's library suspends the guest for async functions only. */
function suspending(fn: HostFunction): HostFunction {
  return async (context, ...args) => fn(context, ...args);
}

/** Returns the error of an endpoint from its text, which is an error of the world as JSON or any message. */
function guestError(text: string): WitError {
  try {
    requireShallowError(text); // stringifying it would overflow the stack
  } catch (error) {
    return toWitError(error);
  }
  const parsed = GuestError.safeParse(parsedJson(text));
  if (!parsed.success) return { kind: 'internal', name: 'PluginError', message: text, data: '{}' };
  const { data = {}, ...rest } = parsed.data;
  return { ...rest, data: JSON.stringify(data) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a string of AssemblyScript. Its length in bytes stands before it. */
function textAt(memory: WebAssembly.Memory | undefined, pointer: number): string {
  if (!memory || pointer < 4 || pointer > memory.buffer.byteLength) return '';
  const bytes = new DataView(memory.buffer).getUint32(pointer - 4, true);
  return new TextDecoder('utf-16le').decode(
    new Uint8Array(memory.buffer, pointer).subarray(0, Math.min(bytes, 2 * maxAbortChars)),
  );
}
