import type { ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { deferred } from '../../../base/core/deferred.ts';
import { spawnContained } from '../../../base/processes/index.ts';
import { pluginLoadError } from '../set/manifest.ts';
import { type CborValue, MalformedError, readCbor } from './cbor.ts';
import { firstCauses } from './compiled-code.ts';
import { type OfferedTypes, versionless } from './component-types.ts';
import { type Frame, frameKind, frameOf, FrameReader, headBytes } from './frames.ts';
import {
  type FailureCode,
  failureCodes,
  type InvocationPort,
  SandboxInvocation,
  type SandboxRun,
} from './sandbox-invocation.ts';
import { giveMemoryBack } from './large-memory.ts';
import { type FunctionCodecs, functionCodecs } from './value-codecs.ts';

export interface SandboxOptions {
  /** The program, and its arguments before those of the sandbox. */
  readonly command: { readonly file: string; readonly args: readonly string[] };
  /** The name of the plugin, for errors. */
  readonly plugin: string;
  /** Path of the component's compiled code. */
  readonly code: string;
  /** Whether the code was made fast. */
  readonly isFast: boolean;
  /** The interface whose functions are run, such as `aana:host/endpoint@0.1.0`. */
  readonly endpoint: string;
  /** The function whose calls are output, without a version, such as `aana:host/output#write`. */
  readonly output: string;
  /** The types that the component was compared with. What the process sends is checked against them, too. */
  readonly types: OfferedTypes;
  readonly limits: ProcessLimits;
  /** Aborting it ends the process. */
  readonly signal?: AbortSignal | undefined;
}

/** Limits of one process. */
export interface ProcessLimits {
  /** Threads that run guests. */
  readonly threads: number;
  /** Runs at a time. Further ones fail with `busy`. */
  readonly slots: number;
  /** Runs, of `slots`, whose memory stays ready for the next ones, and how many bytes of it do. */
  readonly warmSlots: number;
  readonly warmBytes: number;
  /** Bytes of each memory of a guest. */
  readonly memoryBytes: number;
  /** Bytes of all guests together, by the sizes of their memories, which they need not have touched. */
  readonly totalBytes: number;
  /** Milliseconds from the start until the process can run guests. */
  readonly startMs: number;
}

/** What the kernel enforces for a process. `landlock` is the version of its interface, 0 without it. */
export interface Confinement {
  readonly noNewPrivileges: boolean;
  readonly seccomp: boolean;
  readonly landlock: number;
  readonly memoryLimit: boolean;
}

/** What a process says when it can run guests. */
export interface SandboxFacts {
  readonly slots: number;
  /** The functions of the host that the component imports, as `interface@version#function`. */
  readonly functions: readonly string[];
  readonly exports: readonly string[];
  /** The types of resources, as `interface.resource`. */
  readonly resources: readonly string[];
  readonly confinement: Confinement;
}

/** Compiled code cannot be loaded: it is gone, or another program or processor made it. */
export class CodeProblem extends Error {}

/** A process that runs one component. It ends with this process. */
export class SandboxProcess implements AsyncDisposable {
  readonly facts: SandboxFacts;
  /** Resolves when the process has ended, with the reason. */
  readonly ended: Promise<string>;
  readonly #connection: Connection;

  private constructor(connection: Connection, facts: SandboxFacts) {
    this.#connection = connection;
    this.facts = facts;
    this.ended = connection.ended;
  }

  /**
   * Starts a process. Throws `PluginLoadError` when it cannot run the component. Its cause is a {@link CodeProblem}
   * when the code must be compiled again.
   */
  static async start(options: SandboxOptions): Promise<SandboxProcess> {
    const connection = await Connection.open(options);
    const { startMs } = options.limits;
    const timer = setTimeout(() => connection.end(`was not ready within ${startMs} ms`), startMs);
    try {
      return new SandboxProcess(connection, await connection.ready);
    } finally {
      clearTimeout(timer);
    }
  }

  get pid(): number | undefined {
    return this.#connection.pid;
  }

  /** Whether it has ended. Runs are lost at once then. */
  get hasEnded(): boolean {
    return this.#connection.isGone;
  }

  /** The number of runs that have not ended. */
  get running(): number {
    return this.#connection.running;
  }

  /** Begins a run. A process that has ended loses it at once. */
  run(run: SandboxRun): SandboxInvocation {
    return this.#connection.run(run, this.facts.exports.indexOf(run.export));
  }

  /** Ends the process. Runs in it are lost. */
  async close(): Promise<void> {
    this.#connection.end('was closed');
    await this.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A function of the host or of the component, with the codecs of its values. */
interface KnownFunction extends FunctionCodecs {
  readonly name: string;
}

const maxSaidBytes = 4096;
/** Bytes of standard error after which nobody reads it. */
const maxReadStderrBytes = 1024 * 1024;
/**
 * Bytes that wait for the process on one socket. Above it, runs are refused, and a process that still asks for more is
 * ended. Also bytes of frames that are not complete, on all sockets, above which the process is ended.
 */
const maxWaitingBytes = 256 * 1024 * 1024;
/** Milliseconds in which a process that has closed a socket must have ended. It says why when it ends. */
const closedMs = 1_000;
const firstSocket = 4;
/** What a process of the sandbox or of Node says when it has no memory left. */
const outOfMemory =
  /memory allocation of \d+ bytes failed|no memory is left|JavaScript heap out of memory|Fatal process out of memory/;
/** The exit code of a process that cannot load the code. */
const exitUnloadable = 5;

/** The host's side of a process: its sockets, one for each thread, and the runs in it. */
class Connection implements InvocationPort {
  readonly #child: ChildProcess;
  readonly #plugin: string;
  /** None when the process could not be started. */
  #sockets: readonly Socket[] = [];
  readonly #invocations = new Map<number, SandboxInvocation>();
  readonly #ready = deferred<SandboxFacts>();
  readonly #ended = deferred<string>();
  readonly #types: OfferedTypes;
  readonly #endpoint: string;
  readonly #output: string;
  #facts: SandboxFacts | undefined;
  /** By the numbers in frames. */
  #functions: readonly KnownFunction[] = [];
  #exports: readonly KnownFunction[] = [];
  /** The function whose calls are output. */
  #written: KnownFunction | undefined;
  readonly #readers: FrameReader[] = [];
  readonly #exportById = new Map<number, number>();
  #readySockets = 0;
  #reason: string | undefined;
  #isGone = false;
  /** Ends a process that has closed a socket and does not end. */
  #closing: NodeJS.Timeout | undefined;
  #said = '';
  #lastId = 0;

  static async open(options: SandboxOptions): Promise<Connection> {
    const { plugin, code } = options;
    const file = await open(code).catch((cause: unknown) => {
      const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
      const problem = isMissing ? new CodeProblem('there is no code', { cause }) : cause;
      throw pluginLoadError(plugin, `has no compiled code that can be read at ${code}`, problem);
    });
    try {
      return new Connection(options, file.fd);
    } finally {
      await file.close();
    }
  }

  constructor(options: SandboxOptions, code: number) {
    const { command, plugin, isFast, endpoint, output, limits, signal } = options;
    this.#plugin = plugin;
    this.#types = options.types;
    this.#endpoint = endpoint;
    this.#output = output;
    const args = [
      ...command.args,
      'serve',
      `fast=${Number(isFast)}`,
      `threads=${limits.threads}`,
      `slots=${limits.slots}`,
      `warm-slots=${limits.warmSlots}`,
      `warm-bytes=${limits.warmBytes}`,
      `memory-bytes=${limits.memoryBytes}`,
      `total-bytes=${limits.totalBytes}`,
      `endpoint=${endpoint}`,
      `output=${output}`,
    ];
    const sockets = Array.from({ length: limits.threads }, () => 'pipe' as const);
    const stdio = ['ignore', 'ignore', 'pipe', code, ...sockets] as const;
    this.#child = spawnContained(command.file, args, { stdio: [...stdio], env: {}, signal, graceMs: 0 });
    const { stderr } = this.#child;
    let stderrBytes = 0;
    stderr?.on('data', (data: Buffer) => {
      this.#said = (this.#said + data.toString()).slice(-maxSaidBytes);
      stderrBytes += data.length;
      if (stderrBytes > maxReadStderrBytes) stderr.destroy();
    });
    this.#child.once('error', (error) => this.#gone(`could not be started: ${error.message}`));
    // Not `exit`: what it has said and sent comes first.
    this.#child.once('close', (exit, by) => this.#gone(this.#endOf(exit, by), exit === exitUnloadable));
    // Without free descriptors, Node makes no child at all.
    const stdio_ = this.#child.stdio as ChildProcess['stdio'] | undefined;
    this.#sockets = (stdio_?.slice(firstSocket) ?? []) as unknown as Socket[];
    for (const socket of this.#sockets) this.#listen(socket);
    this.#ready.promise.catch(() => {}); // whoever waits for it handles it
  }

  get ready(): Promise<SandboxFacts> {
    return this.#ready.promise;
  }
  get ended(): Promise<string> {
    return this.#ended.promise;
  }
  get pid(): number | undefined {
    return this.#child.pid;
  }
  get running(): number {
    return this.#invocations.size;
  }
  get isGone(): boolean {
    return this.#isGone || this.#reason !== undefined;
  }

  run(run: SandboxRun, index: number): SandboxInvocation {
    const id = this.#nextId();
    const invocation = new SandboxInvocation(id, run, this);
    this.#invocations.set(id, invocation);
    this.#exportById.set(id, index);
    void invocation.outcome.then(() => {
      this.#invocations.delete(id);
      this.#exportById.delete(id);
    });
    const socket = this.#socketOf(id);
    if (this.#isGone) invocation.lost(`its process ${this.#reason ?? 'has ended'}`);
    else if (socket && socket.writableLength > maxWaitingBytes)
      invocation.failed('busy', 'the process does not take what waits for it', 0);
    else {
      const { cpuMs, stretchMs, hostCalls, handles, creditBytes, outputBytes } = run.limits;
      try {
        const { params } = known(this.#exports, index);
        if (params.length !== run.args.length)
          throw new MalformedError('the function takes another number of arguments');
        const args = params.map((param, n) => param.encode(run.args[n]));
        const limits = [cpuMs, stretchMs, hostCalls, handles, creditBytes, outputBytes];
        this.send(id, frameKind.run, [], [index, limits, args]);
      } catch (error) {
        invocation.failed('input', error instanceof Error ? error.message : String(error), 0);
      }
    }
    return invocation;
  }

  send(invocation: number, kind: number, numbers: readonly number[], ...values: readonly CborValue[]): void {
    const frame = frameOf(invocation, kind, numbers, ...values);
    const socket = this.#socketOf(invocation);
    if (this.#isGone || !socket || socket.destroyed) return;
    if (socket.writableLength > maxWaitingBytes) return this.end('does not take what the host sends');
    // All frames of one turn are one write.
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(frame, () => giveMemoryBack(frame));
  }

  giveUp(reason: string): void {
    this.end(reason);
  }

  end(reason: string): void {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL');
  }

  #socketOf(invocation: number): Socket | undefined {
    return this.#sockets[invocation % this.#sockets.length];
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) % 0xffff_ffff;
    while (this.#invocations.has(this.#lastId));
    return this.#lastId;
  }

  #listen(socket: Socket): void {
    const reader = new FrameReader();
    this.#readers.push(reader);
    socket.on('error', () => {}); // it is closed then
    socket.once('close', () => {
      if (!this.#isGone) this.#closing ??= setTimeout(() => this.end('closed a socket'), closedMs).unref();
    });
    socket.on('data', (data: Buffer) => {
      if (this.#isGone || this.#reason !== undefined) return;
      try {
        for (const frame of reader.take(data)) this.#take(frame);
        if (this.#readers.reduce((sum, { incompleteBytes }) => sum + incompleteBytes, 0) > maxWaitingBytes)
          throw new MalformedError(`more than ${maxWaitingBytes} bytes of frames that are not complete`);
      } catch (error) {
        // Whatever it is: what a process sends must not end this one.
        this.end(`sent what the host cannot use: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  }

  #take({ invocation: id, kind, payload }: Frame): void {
    if (kind === frameKind.ready) return this.#takeReady(payload);
    if (!this.#facts) throw new MalformedError('a frame comes before the process is ready');
    const invocation = this.#invocations.get(id);
    if (!invocation || invocation.isOver) throw new MalformedError('a frame is of no run');
    if (invocation.isStopped && kind !== frameKind.returned && kind !== frameKind.failed) return;
    switch (kind) {
      case frameKind.call: {
        if (payload.length < 10) throw new MalformedError('a frame is cut');
        const asked = known(this.#functions, payload.readUInt16LE(8));
        const cpuMs = payload.readUInt32LE(4) / 1000;
        return invocation.call(payload.readUInt32LE(0), asked, argumentsOf(asked, payload.subarray(10)), cpuMs);
      }
      case frameKind.tell: {
        if (payload.length < 2) throw new MalformedError('a frame is cut');
        const told = known(this.#functions, payload.readUInt16LE(0));
        return invocation.tell(told.name, argumentsOf(told, payload.subarray(2)), payload.length + headBytes);
      }
      case frameKind.output:
        if (!this.#written) throw new MalformedError('the component has no output');
        return invocation.output(argumentsOf(this.#written, payload), payload.length + headBytes);
      case frameKind.drop: {
        if (payload.length !== 6) throw new MalformedError('a frame is cut');
        return invocation.drop(known(this.#facts.resources, payload.readUInt16LE(0) - 1), payload.readUInt32LE(2));
      }
      case frameKind.printed: {
        const bytes = readCbor(payload);
        if (!(bytes instanceof Uint8Array)) throw new MalformedError('what was printed has another form');
        return invocation.print(new TextDecoder().decode(bytes));
      }
      case frameKind.returned: {
        const [cpu, value, ...more] = listOf(readCbor(payload));
        if (more.length > 0) throw new MalformedError('a result has another form');
        const { result } = known(this.#exports, this.#exportById.get(id) ?? -1);
        return invocation.returned(result.decode(value), cpuMsOf(cpu));
      }
      case frameKind.failed: {
        const [cpu, code, why] = listOf(readCbor(payload));
        return invocation.failed(codeOf(code), firstCauses(textOf(why)), cpuMsOf(cpu));
      }
      default:
        throw new MalformedError('a frame has an unknown kind');
    }
  }

  #takeReady(payload: Buffer): void {
    if (!this.#facts) {
      const facts = readFacts(readCbor(payload));
      this.#functions = facts.functions.map((name) => this.#known(this.#types.imports, name));
      this.#exports = facts.exports.map((name) => this.#known(this.#types.exports, `${this.#endpoint}#${name}`));
      this.#written = this.#functions.find(({ name }) => name.replace(/@[^#]*/, '') === this.#output);
      this.#facts = facts;
    }
    this.#readySockets++;
    if (this.#readySockets === this.#sockets.length) this.#ready.resolve(this.#facts);
  }

  /** Finds the type of a function, `interface@version#function`. */
  #known(types: OfferedTypes['imports'], name: string): KnownFunction {
    const middle = name.indexOf('#');
    const members = types[versionless(name.slice(0, middle))];
    const text = members?.[name.slice(middle + 1)];
    if (text === undefined) throw new MalformedError(`the host does not have ${name}`);
    return { name, ...functionCodecs(text) };
  }

  /** Says how the process has ended. */
  #endOf(exit: number | null, by: NodeJS.Signals | null): string {
    const said = this.#said.trim();
    if (this.#reason !== undefined) return this.#reason;
    if (outOfMemory.test(said)) return 'has no memory left under its limit';
    const how = by ? `was ended by ${by}` : `ended with ${exit}`;
    return said === '' ? how : `${how}: ${firstCauses(said)}`;
  }

  #gone(reason: string, isUnloadable = false): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#closing);
    this.#reason ??= reason;
    for (const socket of this.#sockets) socket.destroy();
    for (const invocation of [...this.#invocations.values()]) invocation.lost(`its process ${this.#reason}`);
    const cause = isUnloadable ? new CodeProblem(this.#reason) : undefined;
    this.#ready.reject(pluginLoadError(this.#plugin, `cannot be run: its process ${this.#reason}`, cause));
    this.#ended.resolve(this.#reason);
  }
}

function known<T>(things: readonly T[], index: number): T {
  const thing = things[index];
  if (thing === undefined) throw new MalformedError('a frame has an unknown number');
  return thing;
}

function listOf(value: CborValue | undefined): readonly CborValue[] {
  if (!Array.isArray(value)) throw new MalformedError('a frame has another form');
  return value as readonly CborValue[];
}

function argumentsOf({ name, params }: KnownFunction, payload: Buffer): readonly unknown[] {
  const values = listOf(readCbor(payload));
  if (values.length !== params.length) throw new MalformedError(`${name} has another number of arguments`);
  return params.map((param, n) => param.decode(values[n]));
}

function textOf(value: CborValue | undefined): string {
  if (typeof value !== 'string') throw new MalformedError('a frame has another form');
  return value;
}

function numberOf(value: CborValue | undefined): number {
  if (typeof value !== 'number') throw new MalformedError('a frame has another form');
  return value;
}

/** Milliseconds of a month. No run computes for longer. */
const maxCpuMs = 31 * 24 * 3_600_000;

/** Returns milliseconds of a number of microseconds. */
function cpuMsOf(value: CborValue | undefined): number {
  const cpuMs = numberOf(value) / 1000;
  if (!(cpuMs >= 0 && cpuMs <= maxCpuMs)) throw new MalformedError('a time is not valid');
  return cpuMs;
}

function codeOf(value: CborValue | undefined): FailureCode | 'cancelled' {
  const code = [...failureCodes, 'cancelled' as const].find((one) => one === value);
  if (code === undefined) throw new MalformedError('a run fails for an unknown reason');
  return code;
}

function readFacts(value: CborValue): SandboxFacts {
  if (typeof value !== 'object' || value === null || !('confinement' in value))
    throw new MalformedError('the process says that it is ready in another form');
  const { slots, functions, exports, resources, confinement } = value as Record<string, CborValue>;
  return {
    slots: numberOf(slots),
    functions: listOf(functions).map((item) => textOf(listOf(item)[0])),
    exports: listOf(exports).map(textOf),
    resources: listOf(resources).map(textOf),
    confinement: readConfinement(confinement),
  };
}

/** Reads what the sandbox says about its confinement. Throws `MalformedError`. */
export function readConfinement(value: unknown): Confinement {
  const kernel = (value ?? {}) as Record<string, CborValue>;
  return {
    noNewPrivileges: kernel['no-new-privileges'] === true,
    seccomp: kernel['seccomp'] === true,
    landlock: numberOf(kernel['landlock']),
    memoryLimit: kernel['memory-limit'] === true,
  };
}
