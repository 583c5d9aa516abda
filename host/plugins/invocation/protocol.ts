import type { LogLevel } from '../../core/log/logger.ts';
import type { HostCalls } from '../../../wit/generated/world/calls.ts';
import type { Info as WitEndpoint } from '../../../wit/generated/world/endpoint.ts';
import type { Error as WitError } from '../../../wit/generated/world/types.ts';
import { stopCell } from '../component/core-modules/hooks.ts';
import type { MemoryLimits } from '../guest/instance-memory.ts';

export type { HostCalls, WitEndpoint, WitError };

/**
 * How a plugin's worker waits for the host: by suspending the guest (many at a time), or by blocking its thread (one).
 */
export type RuntimeMode = 'suspending' | 'blocking';

export type HostOperation = keyof HostCalls;
/** A call of a guest as it crosses between the threads. Handles are numbers of one invocation. */
export type HostCall = {
  readonly [O in HostOperation]: { readonly operation: O; readonly args: HostCalls[O]['args'] };
}[HostOperation];
export type HostReply = { readonly value: unknown } | { readonly error: WitError };

export type Outcome =
  | { readonly state: 'returned'; readonly json: string }
  | { readonly state: 'failed'; readonly error: WitError }
  /** It computed for too long and was told to end. */
  | { readonly state: 'stopped' }
  /** `said`: what the guest said itself as it died. */
  | { readonly state: 'trapped'; readonly reason: string; readonly said?: string | undefined };

export interface RunMessage {
  readonly type: 'run';
  readonly id: number;
  /** Index of the invocation's cells in {@link WorkerInit.control}. */
  readonly slot: number;
  readonly endpoint: string;
  readonly input: string;
  readonly requestId: string;
  readonly userId?: string | null | undefined;
  readonly priority?: number | undefined;
  readonly traceparent?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number;
  /** Most bytes that it may stream. Absent when it streams nothing. */
  readonly outputBytes?: number | undefined;
  /** Most bytes of its answer, or of one streamed value. */
  readonly answerBytes: number;
  /** The slot's {@link OutputRing}, sent with its first invocation that streams. */
  readonly ring?: SharedArrayBuffer | undefined;
}

export type ToWorker =
  | RunMessage
  | { readonly type: 'reply'; readonly id: number; readonly call: number; readonly reply: HostReply }
  /** Forget the invocation and its instance; it waits for the host and gets no answer any more. */
  | { readonly type: 'abandon'; readonly id: number };

export type FromWorker =
  /** The thread runs; its first instance is being made. `thread` is its folder in `/proc`, where there is one. */
  | { readonly type: 'started'; readonly thread: string | undefined }
  | { readonly type: 'ready'; readonly endpoints: readonly WitEndpoint[] }
  | { readonly type: 'broken'; readonly reason: string }
  | {
      readonly type: 'call';
      readonly id: number;
      readonly call: number;
      /** Milliseconds that the guest has computed so far. */ readonly cpuMs: number;
      readonly request: HostCall;
    }
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number; readonly text: string }
  /** There are chunks in the ring of its slot. */
  | { readonly type: 'output'; readonly id: number }
  | { readonly type: 'drop'; readonly id: number; readonly handle: number }
  | {
      readonly type: 'log';
      readonly id: number | undefined;
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: string;
    }
  | { readonly type: 'done'; readonly id: number; readonly cpuMs: number; readonly outcome: Outcome }
  | { readonly type: 'abandoned'; readonly id: number }
  /** The host had taken back the invocation in the slot before it began. */
  | { readonly type: 'skipped'; readonly slot: number };

export interface WorkerInit {
  readonly mode: RuntimeMode;
  /** URL of a component's generated glue module; undefined for an Extism plugin, whose only module is `main`. */
  readonly glue: string | undefined;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  /** Whether bringing back memories and variables makes an instance as new. */
  readonly isRestorable: boolean;
  /** Bytes that an instance begins with. */
  readonly initialBytes: number;
  readonly memory: MemoryLimits;
  /** Pages of all of the plugin's instances, which its threads share. */
  readonly pages: Int32Array;
  /** Has the cells. */
  readonly control: WebAssembly.Memory;
}

/**
 * Cells of the memory that host and worker share. `wake`: a blocked worker sleeps while it is 0. `running`: the slot
 * (plus 1) whose guest code is on the thread now, 0 when none is; the number after the last slot's stands for an
 * instance that the thread makes as it starts. `entries`: grows by 2 each time guest code is entered, and is odd when
 * the guest that was entered must end. `pages`: of the thread's instances. `enteredAt`: the clock's milliseconds,
 * modulo 2³², when guest code was entered last. From `slots` on, one cell a slot, with the bits of `slots.ts`.
 */
export const cell = { wake: 0, running: 1, entries: stopCell, pages: 3, enteredAt: 4, slots: 5 } as const;

/** The memory with the cells, one page: guests read one of them, and cannot name the others. */
export function newControl(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
}
