import { createPlugin, type CallContext, type Plugin } from 'extism';
import * as z from 'zod/mini';
import type { Info } from '../../../../../wit/generated/world/endpoint.ts';
import type { Error as WitError } from '../../../../../wit/generated/world/types.ts';
import { maxFrameBytes } from '../../sandbox/frames.ts';
import { Blocks } from '../blocks.ts';
import { exportOf } from '../interface.ts';
import type { HostLink } from './host-link.ts';
import { type HostFunction, hostFunctions } from './host-functions.ts';
import type { ThreadInit } from './messages.ts';

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
const maxDescriptionBytes = 8 * 1024 * 1024;

export type RunResult = { readonly ok: string } | { readonly err: WitError };

/** An Extism plugin. Each run gets a new instance, which takes a fraction of a millisecond to create. */
export class ExtismGuest {
  readonly #module: WebAssembly.Module;
  readonly #memoryBytes: number;
  readonly #link: HostLink;
  readonly #imported: ReadonlySet<string>;
  readonly #exported: ReadonlySet<string>;

  constructor({ module, memoryBytes }: ThreadInit, link: HostLink) {
    this.#module = module;
    this.#memoryBytes = memoryBytes;
    this.#link = link;
    this.#imported = new Set(WebAssembly.Module.imports(module).map(({ module, name }) => `${module} ${name}`));
    this.#exported = new Set(
      WebAssembly.Module.exports(module)
        .filter(({ kind }) => kind === 'function')
        .map(({ name }) => name),
    );
  }

  /** Returns the endpoints. Throws with a sentence for a description of another form. */
  async describe(): Promise<readonly Info[]> {
    const output = await (await this.#instantiate()).call('describe');
    if (output && output.bytes().length > maxDescriptionBytes)
      throw new Error(`"describe" returns more than ${maxDescriptionBytes} bytes`);
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

  /** Runs an endpoint, or `helper:<name>`. Throws when the guest traps. */
  async run(endpoint: string, input: string): Promise<RunResult> {
    const name = exportOf(endpoint);
    if (!this.#exported.has(name)) {
      const message = `the plugin exports no function "${name}"`;
      return { err: { kind: 'not-found', name: 'HelperNotFound', message, data: '{}' } };
    }
    const plugin = await this.#instantiate();
    try {
      const output = await plugin.call(name, input);
      if (output && output.bytes().length > maxFrameBytes)
        throw new Error(`the result has more than ${maxFrameBytes} bytes`);
      return { ok: output?.text() || 'null' };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!message.startsWith(errorPrefix)) throw error;
      return { err: guestError(message.slice(errorPrefix.length)) };
    }
  }

  async #instantiate(): Promise<Plugin> {
    const link = this.#link;
    const memoryBytes = this.#memoryBytes;
    const blocks = new Blocks(memoryBytes);
    let memory: WebAssembly.Memory | undefined;
    const offered = hostFunctions(link, blocks, (pointer, length) => {
      if (!memory) throw new Error('the memory does not exist yet');
      return new Uint8Array(memory.buffer, Number(pointer), length);
    });
    const user = Object.fromEntries(
      Object.entries(offered).filter(([name]) => this.#imported.has(`extism:host/user ${name}`)),
    );
    const plugin = await createPlugin(
      { wasm: [{ module: this.#module }] },
      {
        functions: {
          'extism:host/env': environment(link, blocks),
          'extism:host/user': user,
          env: {
            abort: (_: CallContext, message: number, file: number, line: number, column: number) => {
              throw new Error(`${textAt(memory, message) || 'abort'} (${textAt(memory, file)}:${line}:${column})`);
            },
            seed: () => Math.random(),
            'Date.now': () => Date.now(),
          },
        },
        config: Object.create(null) as Record<string, string>, // without inherited keys
        logger: quiet as unknown as Console,
        logLevel: 'trace', // guests ask for it
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

/** What Extism's library itself says about wrong addresses. */
const quiet = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
function ignore(): void {}

/**
 * Returns functions of `extism:host/env` in place of those of Extism's library, which limit neither texts nor the
 * blocks that variables are read into.
 */
function environment(link: HostLink, blocks: Blocks): Readonly<Record<string, HostFunction>> {
  const variables = new Map<string, Uint8Array>();
  const log =
    (level: 'debug' | 'info' | 'warn' | 'error'): HostFunction =>
    (context, text) =>
      link.tell('log#log', level, blocks.text(context, text!), '');
  return {
    alloc: (context, bytes) => blocks.alloc(context, bytes!),
    error_set: (context, text) => blocks.setError(context, text!),
    config_get: () => 0n,
    var_get: (context, key) => {
      const value = variables.get(blocks.text(context, key!));
      return value ? blocks.store(context, value) : 0n;
    },
    var_set: (context, key, value) => {
      const name = blocks.text(context, key!);
      if (value === 0n) variables.delete(name);
      else variables.set(name, blocks.copy(context, value!));
    },
    ...{ log_trace: log('debug'), log_debug: log('debug'), log_info: log('info') },
    ...{ log_warn: log('warn'), log_error: log('error') },
  };
}

/** Returns the error of an endpoint from its text, which is an error of the world as JSON or any message. */
function guestError(text: string): WitError {
  const parsed = GuestError.safeParse(parsedJson(text));
  if (!parsed.success) return { kind: 'internal', name: 'PluginError', message: text, data: '{}' };
  const { data = {}, ...rest } = parsed.data;
  return { ...rest, data: writtenJson(data) ?? text };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns undefined for a value that is nested too deep to be written. The host refuses far lower ones. */
function writtenJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
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
