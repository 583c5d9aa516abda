import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Error as WitError } from '../../../../../wit/generated/world/types.ts';
import { type CborValue, readCbor } from '../../sandbox/cbor.ts';
import { frameKind, frameWith, headBytes } from '../../sandbox/frames.ts';
import type { OfferedTypes } from '../../sandbox/component-types.ts';
import type { FailureCode } from '../../sandbox/sandbox-invocation.ts';
import { type FunctionCodecs, functionCodecs } from '../../sandbox/value-codecs.ts';
import { cell, Stopwatch } from './computing.ts';
import {
  failureFrame,
  type FromThread,
  microsOf,
  type RunContent,
  type ThreadInit,
  type ToThread,
} from './messages.ts';
import { fullName, type ResourceType, resourceTypes, typeOf, type WorldFunction } from './world.ts';

/** A function of the world as frames have it. */
interface CalledFunction extends FunctionCodecs {
  readonly number: number;
  /** Whether it returns an error of the world, or a value. */
  readonly canFail: boolean;
}

/** The run of the thread. */
interface Run {
  readonly id: number;
  readonly mayCall: boolean;
  readonly limits: { readonly cpuMs: number; readonly hostCalls: number; readonly handles: number };
  /** Bytes of output that the host takes without an answer. */
  outputBytes: number;
  /** Bytes that may be sent without an answer. The last frame may be longer. */
  credits: number;
  calls: number;
}

/** The thread's side of the frames: sends what the guest calls, and blocks the thread until the host has answered. */
export class HostLink {
  readonly #port: MessagePort;
  readonly #cells: Int32Array;
  readonly #stopwatch: Stopwatch;
  readonly #functions: ReadonlyMap<WorldFunction, CalledFunction>;
  #run: Run | undefined;

  constructor(port: MessagePort, { control, functions }: ThreadInit, { imports }: OfferedTypes) {
    this.#port = port;
    this.#cells = new Int32Array(control);
    this.#stopwatch = new Stopwatch(control);
    this.#functions = new Map(
      functions.map((name, number) => {
        const type = typeOf(imports, fullName(name));
        return [name, { number, ...functionCodecs(type), canFail: type.includes(' -> result<') }];
      }),
    );
  }

  /** Begins a run. `mayCall`: it may do more than write to the log. */
  begin(id: number, [, limits]: RunContent, mayCall: boolean): void {
    const [cpuMs, stretchMs, hostCalls, handles, creditBytes, outputBytes] = limits;
    this.#run = {
      ...{ id, mayCall, limits: { cpuMs, hostCalls, handles } },
      ...{ outputBytes, credits: creditBytes, calls: 0 },
    };
    this.#stopwatch.begin(cpuMs, stretchMs);
  }

  /**
   * Calls the host and waits for its answer. When the function fails, or does not take the arguments, throws an error
   * whose `payload` is that of the world.
   */
  call<T>(name: WorldFunction, ...args: readonly unknown[]): T {
    const run = this.#running();
    const called = this.#function(name);
    if (run.calls >= run.limits.hostCalls)
      this.end('calls', `it calls the host more than ${run.limits.hostCalls} times`);
    const start = head([run.calls + 1, 4], [0, 4], [called.number, 2]);
    const frame = argumentsFrame(run.id, frameKind.call, start, called, args);
    run.calls++;
    frame.writeUInt32LE(Math.min(microsOf(this.#leave(run)), maxMicros), callMicrosAt);
    this.#send(frame);
    for (;;) {
      const message = this.#receive()!;
      if (message.kind === 'answer') {
        this.#stopwatch.enter();
        return this.#answer(called, message.payload) as T;
      }
      if (message.kind === 'refuse') this.end('refused', String(valueIn(message.payload)));
      this.take(message);
    }
  }

  /** Calls the host without an answer. Waits while it has taken too little of what was sent before. */
  tell(name: WorldFunction, ...args: readonly unknown[]): void {
    const run = this.#running();
    const called = this.#function(name);
    void this.#sendOnCredit(run, argumentsFrame(run.id, frameKind.tell, head([called.number, 2]), called, args));
  }

  /** Sends a value to the client. Throws like {@link call}. */
  write(chunk: string): void {
    const run = this.#running();
    const bytes = Math.max(1, Buffer.byteLength(chunk));
    const fits = bytes <= run.outputBytes;
    run.outputBytes = fits ? run.outputBytes - bytes : 0;
    const frame = fits && argumentsFrame(run.id, frameKind.output, head(), this.#function('output#write'), [chunk]);
    if (!frame || this.isEnding || !this.#sendOnCredit(run, frame, () => this.isEnding))
      this.call('output#write', chunk);
  }

  /** Whether the guest is cancelled. */
  get isEnding(): boolean {
    return Atomics.load(this.#cells, cell.isEnding) === 1;
  }

  drop(type: ResourceType, resource: number): void {
    const start = head([resourceTypes.indexOf(type) + 1, 2], [resource, 4]);
    this.#send(frameWith(this.#running().id, frameKind.drop, start));
  }

  /** Ends the run when the guest holds more resources than it may. */
  requireHandles(held: number): void {
    const { handles } = this.#running().limits;
    if (held > handles) this.end('handles', `it holds more than ${handles} resources`);
  }

  /** Handles a message of the main thread that no call waits for. */
  take(message: ToThread): void {
    if (message.kind === 'credit' && this.#run) this.#run.credits += Buffer.from(message.payload).readUInt32LE();
  }

  /** Ends the run with the result of its function. */
  returned(result: CborValue): void {
    const run = this.#running();
    const spentMs = this.#leave(run);
    let frame: Buffer;
    try {
      frame = frameWith(run.id, frameKind.returned, head(), [microsOf(spentMs), result]);
    } catch (error) {
      frame = failureFrame(run.id, spentMs, 'result', messageOf(error));
    }
    this.#over(frame);
  }

  failed(code: FailureCode, reason: string): void {
    const { id } = this.#running();
    this.#over(failureFrame(id, this.#stopwatch.leave(), code, reason));
  }

  /** Ends the run together with the thread, because a guest can catch what its imports throw. */
  end(code: FailureCode, reason: string): never {
    this.#port.postMessage({ kind: 'overrun', code, reason } satisfies FromThread);
    for (;;) Atomics.wait(this.#cells, cell.never, 0);
  }

  #over(frame: Buffer): void {
    this.#run = undefined;
    this.#send(frame, true);
  }

  #running(): Run {
    if (!this.#run) throw new Error('nothing runs');
    return this.#run;
  }

  #function(name: WorldFunction): CalledFunction {
    if (!this.#running().mayCall && name !== 'log#log') throw new Error('the host can be called from endpoints only');
    const called = this.#functions.get(name);
    if (!called) throw new Error(`the plugin does not import ${name}`);
    return called;
  }

  #answer({ result, canFail }: CalledFunction, payload: Uint8Array): unknown {
    let value: unknown;
    try {
      value = result.decode(valueIn(payload));
    } catch (error) {
      this.end('answer', `the host's answer is not valid: ${messageOf(error)}`);
    }
    if (!canFail) return value;
    const { ok, err } = value as { readonly ok?: unknown; readonly err?: WitError };
    if (err !== undefined) throw failing(err);
    return ok;
  }

  /** Returns the milliseconds of computing so far. */
  #leave({ limits: { cpuMs } }: Run): number {
    const spentMs = this.#stopwatch.leave();
    if (spentMs > cpuMs) this.end('cpu', `it computes for more than ${cpuMs} ms`);
    return spentMs;
  }

  /** Waits for credits and sends a frame. Returns false, and does not send it, when `givesUp` says so meanwhile. */
  #sendOnCredit(run: Run, frame: Buffer, givesUp = (): boolean => false): boolean {
    this.#leave(run); // each call of the host begins a stretch
    while (run.credits <= 0 && !givesUp()) {
      const message = this.#receive(givesUp);
      if (message) this.take(message);
    }
    this.#stopwatch.enter();
    if (run.credits <= 0) return false;
    run.credits -= frame.length;
    this.#send(frame);
    return true;
  }

  /** Waits for a message. Returns undefined when `givesUp` says so meanwhile. */
  #receive(givesUp = (): boolean => false): ToThread | undefined {
    for (;;) {
      const seen = Atomics.load(this.#cells, cell.wake);
      const received = receiveMessageOnPort(this.#port);
      if (received) return received.message as ToThread;
      if (givesUp()) return undefined;
      Atomics.wait(this.#cells, cell.wake, seen);
    }
  }

  #send(bytes: Buffer, isLast = false): void {
    const frame = new Uint8Array(bytes); // in memory of its own, which is moved
    this.#port.postMessage({ kind: 'frame', frame, isLast } satisfies FromThread, [frame.buffer]);
  }
}

/** Where a call has the microseconds of computing so far, which it says up to an hour. */
const callMicrosAt = headBytes + 4;
const maxMicros = 0xffff_ffff;

/** Returns what a function of the world throws when it fails. */
export const failing = (payload: WitError): Error => Object.assign(new Error(payload.message), { payload });

/** The beginning of a payload: numbers with their sizes in bytes. */
function head(...numbers: readonly (readonly [number: number, bytes: 2 | 4])[]): Buffer {
  const written = Buffer.alloc(numbers.reduce((sum, [, bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [number, bytes] of numbers) at = written.writeUIntLE(number, at, bytes);
  return written;
}

/** Returns a frame with arguments for the host. Throws an error of the world for what the host would not take. */
function argumentsFrame(
  id: number,
  kind: number,
  start: Uint8Array,
  { params }: FunctionCodecs,
  args: readonly unknown[],
): Buffer {
  let values: CborValue[];
  try {
    values = params.map((param, n) => param.encode(args[n]));
    params.forEach((param, n) => param.decode(values[n])); // the host ends a process that sends other types
  } catch (error) {
    throw failing({ kind: 'invalid-input', name: 'InvalidArguments', message: messageOf(error), data: '{}' });
  }
  try {
    return frameWith(id, kind, start, values);
  } catch (error) {
    throw failing({ kind: 'too-large', name: 'ArgumentsTooLarge', message: messageOf(error), data: '{}' });
  }
}

const valueIn = (payload: Uint8Array): CborValue => readCbor(Buffer.from(payload.buffer));
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
