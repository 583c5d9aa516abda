import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Awaitable } from '../../../../wit/generated/world/imports.ts';
import { boundedArguments, isDeep } from '../invocation/border.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { OutputRing } from '../invocation/output-ring.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { isClientGone } from '../threads/slots.ts';
import { enteredNow } from '../threads/thread-hold.ts';
import {
  cell,
  type FromWorker,
  type HostCall,
  type HostCalls,
  type HostOperation,
  type HostReply,
  type RunMessage,
  type ToWorker,
  type WitError,
} from '../invocation/protocol.ts';

/**
 * Milliseconds for which a guest may go on without an answer of the host. Other guests wait for the thread meanwhile.
 */
const maxTurnMs = 10;

/** Computing time of the thread, which excludes waits for a processor. Older versions of Node do not report it. */
const { threadCpuUsage } = process as { threadCpuUsage?(): NodeJS.CpuUsage };
const threadCpuMs = threadCpuUsage
  ? (): number => cpuMsOf(threadCpuUsage.call(process))
  : (): number => performance.now();
const cpuMsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** An invocation in its worker. */
export interface Invocation extends RunMessage {
  /** The ring for streamed values, and the bytes that are left. Undefined when the host must answer each write. */
  output: { readonly ring: OutputRing; leftBytes: number } | undefined;
  /** Resources of the host that the guest holds. */
  readonly held: Set<object>;
  /** Milliseconds that the guest has computed. Before Node 23.9: that it has occupied the thread. */
  cpuMs: number;
  /** The number of log lines so far. */
  lines: number;
  /** The last progress report. */
  progress: {
    readonly percent: number;
    readonly text: string;
    readonly until?: number | undefined;
    readonly count: number;
  };
  /** The host has abandoned the invocation. Its calls get no answers, so it stays suspended until it is collected. */
  isAbandoned: boolean;
  /** The memory of the instance that runs the invocation. Undefined before there is an instance. */
  memory: InstanceMemory | undefined;
}

/** Carries calls of guests to the host, and records in shared memory which guest occupies the thread. */
export abstract class Bridge {
  protected readonly port: MessagePort;
  protected readonly control: Int32Array;
  /** The number of log lines outside of invocations so far. */
  lines = 0;
  #lastCall = 0;
  #entered: { readonly invocation: Invocation; readonly at: number; readonly cpuMs: number } | undefined;

  constructor(port: MessagePort, control: Int32Array) {
    this.port = port;
    this.control = control;
  }

  post(message: FromWorker): void {
    this.port.postMessage(message);
  }

  /** Marks the guest as running until {@link leave}. */
  enter(invocation: Invocation): void {
    this.#entered = { invocation, at: performance.now(), cpuMs: threadCpuMs() };
    this.#count(invocation.slot);
  }

  /** Marks the creation of the first instance until {@link leave}. */
  enterStart(): void {
    this.#count(this.control.length - cell.slots);
  }

  #count(slot: number): void {
    enteredNow(this.control);
    Atomics.store(this.control, cell.running, slot + 1);
    for (;;) {
      const before = Atomics.load(this.control, cell.entries);
      if (Atomics.compareExchange(this.control, cell.entries, before, (before | 1) + 1) === before) return;
    }
  }

  /** Whether the guest that was entered last must end. The guest then traps. */
  get isStopped(): boolean {
    return (Atomics.load(this.control, cell.entries) & 1) === 1;
  }

  leave(): void {
    if (this.#entered) this.#entered.invocation.cpuMs += threadCpuMs() - this.#entered.cpuMs;
    this.#entered = undefined;
    Atomics.store(this.control, cell.running, 0);
  }

  isCancelled(invocation: Invocation): boolean {
    return isClientGone(this.control, invocation.slot);
  }

  /**
   * Sends a chunk to the client. It returns immediately while the ring has space. Otherwise, and for every error, the
   * host answers.
   */
  write(invocation: Invocation, chunk: string): Awaitable<undefined> {
    const { output } = invocation;
    if (output) {
      const bytes = Buffer.byteLength(chunk);
      output.leftBytes -= bytes;
      if (
        output.leftBytes >= 0 &&
        !this.isCancelled(invocation) &&
        !this.#isTurnOver() &&
        !isDeep(chunk) &&
        output.ring.offer(chunk, bytes)
      ) {
        if (output.ring.mustTell()) this.post({ type: 'output', id: invocation.id });
        return undefined;
      }
    }
    return this.call(invocation, 'output.write', chunk);
  }

  #isTurnOver(): boolean {
    return this.#entered === undefined || performance.now() - this.#entered.at > maxTurnMs;
  }

  /** Returns the host's answer. Throws an error that the glue takes for a WIT error. */
  abstract call<O extends HostOperation>(
    invocation: Invocation,
    operation: O,
    ...args: HostCalls[O]['args']
  ): Awaitable<HostCalls[O]['value']>;

  /** Gives an answer to its call. Only a suspending bridge receives answers in this way. */
  abstract onReply(message: ToWorker & { type: 'reply' }): void;

  abstract forget(id: number): void;

  /**
   * Sends a call. Throws like {@link call} when the arguments are over the limits. The check runs in the guest's time.
   */
  protected send(invocation: Invocation, operation: HostOperation, given: readonly unknown[]): number {
    const args = bounded(operation, given, invocation.answerBytes);
    // From now on only the host knows how much the invocation may still stream.
    if (operation === 'output.forward' || operation === 'llm.forward') invocation.output = undefined;
    const call = ++this.#lastCall;
    this.leave();
    this.post({
      type: 'call',
      id: invocation.id,
      call,
      cpuMs: invocation.cpuMs,
      request: { operation, args } as HostCall,
    });
    return call;
  }
}

/** Blocks the thread until the answer arrives. */
export class BlockingBridge extends Bridge {
  override call<O extends HostOperation>(
    invocation: Invocation,
    operation: O,
    ...args: HostCalls[O]['args']
  ): HostCalls[O]['value'] {
    Atomics.store(this.control, cell.wake, 0);
    const call = this.send(invocation, operation, args);
    for (;;) {
      Atomics.wait(this.control, cell.wake, 0);
      Atomics.store(this.control, cell.wake, 0);
      for (let got = receiveMessageOnPort(this.port); got; got = receiveMessageOnPort(this.port)) {
        const message = got.message as ToWorker;
        if (message.type !== 'reply' || message.call !== call) continue;
        this.enter(invocation);
        return valueOf(message.reply) as HostCalls[O]['value'];
      }
    }
  }

  override onReply(): void {}
  override forget(): void {}
}

interface Waiting {
  readonly invocation: Invocation;
  settle(reply: HostReply): void;
}

/** Returns a promise, and the glue suspends the guest until it settles. */
export class SuspendingBridge extends Bridge {
  readonly #waiting = new Map<number, Map<number, Waiting>>();

  override call<O extends HostOperation>(
    invocation: Invocation,
    operation: O,
    ...args: HostCalls[O]['args']
  ): Promise<HostCalls[O]['value']> {
    if (invocation.isAbandoned) {
      this.leave();
      return new Promise(() => {});
    }
    let call: number;
    try {
      call = this.send(invocation, operation, args);
    } catch (error) {
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const calls = this.#waiting.get(invocation.id) ?? new Map<number, Waiting>();
      this.#waiting.set(invocation.id, calls);
      calls.set(call, {
        invocation,
        settle: (reply) => {
          try {
            resolve(valueOf(reply) as HostCalls[O]['value']);
          } catch (error) {
            reject(error);
          }
        },
      });
    });
  }

  override onReply({ id, call, reply }: ToWorker & { type: 'reply' }): void {
    const calls = this.#waiting.get(id);
    const waiting = calls?.get(call);
    if (!calls || !waiting) return; // the invocation was abandoned
    calls.delete(call);
    if (calls.size === 0) this.#waiting.delete(id);
    this.enter(waiting.invocation); // the guest goes on in the microtasks after this message
    waiting.settle(reply);
  }

  override forget(id: number): void {
    this.#waiting.delete(id);
  }
}

function valueOf(reply: HostReply): unknown {
  if ('error' in reply) throw guestErrorOf(reply.error);
  return reply.value;
}

function bounded(operation: HostOperation, args: readonly unknown[], answerBytes: number): readonly unknown[] {
  try {
    return boundedArguments(operation, args, answerBytes);
  } catch (error) {
    throw guestErrorOf(toWitError(error));
  }
}

/** Returns an error that the glue takes for a WIT error. */
function guestErrorOf(payload: WitError): Error {
  return Object.assign(new Error(payload.message), { payload });
}
