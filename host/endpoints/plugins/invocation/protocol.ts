import type { LogLevel } from '../../../base/core/log/logger.ts';
import type { HostCalls } from '../../../../wit/generated/world/calls.ts';
import type { Info as WitEndpoint } from '../../../../wit/generated/world/endpoint.ts';
import type { Error as WitError } from '../../../../wit/generated/world/types.ts';
import { stopCell } from '../component/core-modules/hooks.ts';
import type { MemoryLimits } from '../guest/instance-memory.ts';

export type { HostCalls, WitEndpoint, WitError };

/** How a plugin's worker waits for the host: it suspends the guest (many at a time) or blocks its thread (one). */
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
  /** The guest computed for too long and was told to end. */
  | { readonly state: 'stopped' }
  /** `said` is the guest's own last message. */
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
  /** Milliseconds by the clock that all threads share, see `threadsNow`. */
  readonly deadlineAt: number;
  /** Maximum bytes of all streamed values. Absent when the endpoint does not stream. */
  readonly outputBytes?: number | undefined;
  /** Maximum bytes of the answer, or of one streamed value. */
  readonly answerBytes: number;
  /** The {@link OutputRing} of the slot. It is sent with the slot's first invocation that streams. */
  readonly ring?: SharedArrayBuffer | undefined;
}

export type ToWorker =
  | RunMessage
  | { readonly type: 'reply'; readonly id: number; readonly call: number; readonly reply: HostReply }
  /** Forget the invocation and its instance. It waits for the host and gets no answer. */
  | { readonly type: 'abandon'; readonly id: number };

export type FromWorker =
  /** The thread runs and creates its first instance. `thread` is its folder in `/proc`, where there is one. */
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
  /** `until` is the fraction at which the guest's next step ends, if it has said so. */
  | {
      readonly type: 'progress';
      readonly id: number;
      readonly fraction: number;
      readonly text: string;
      readonly until?: number | undefined;
    }
  /** The ring of the slot has chunks. */
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
  /** The host had taken back the invocation in the slot before the thread began it. */
  | { readonly type: 'skipped'; readonly slot: number };

export interface WorkerInit {
  readonly mode: RuntimeMode;
  /** URL of the component's generated glue module. Undefined for an Extism plugin, whose only module is `main`. */
  readonly glue: string | undefined;
  readonly modules: Readonly<Record<string, WebAssembly.Module>>;
  /** Whether restoring memories and variables resets an instance completely. */
  readonly isRestorable: boolean;
  /** Bytes of a new instance. */
  readonly initialBytes: number;
  readonly memory: MemoryLimits;
  /** Pages of all of the plugin's instances, which its threads share. */
  readonly pages: Int32Array;
  /** The shared memory with the cells. */
  readonly control: WebAssembly.Memory;
}

/**
 * Cells of the memory that host and worker share. `wake`: a blocked worker sleeps while it is 0. `running`: the slot
 * (plus 1) of the guest that occupies the thread, 0 for none; the number after the last slot stands for the first
 * instance while the thread creates it. `entries`: grows by 2 each time a guest is entered, and is odd when that guest
 * must end. `pages`: pages of the thread's instances. `enteredAt`: the time of the last entry in milliseconds, modulo
 * 2³². From `slots` on, one cell for each slot, with the bits of `slots.ts`.
 */
export const cell = { wake: 0, running: 1, entries: stopCell, pages: 3, enteredAt: 4, slots: 5 } as const;

/** Returns the memory with the cells, one page. Guests read one cell and cannot reach the others. */
export function newControl(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
}
