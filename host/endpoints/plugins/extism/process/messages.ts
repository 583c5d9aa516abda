import type { CborValue } from '../../sandbox/cbor.ts';
import { frameKind, frameOf } from '../../sandbox/frames.ts';
import type { FailureCode } from '../../sandbox/sandbox-invocation.ts';
import type { WorldFunction } from './world.ts';

/** What a thread gets at its start. */
export interface ThreadInit {
  readonly module: WebAssembly.Module;
  /** See {@link cell}. */
  readonly control: SharedArrayBuffer;
  readonly memoryBytes: number;
  /** The functions of the world that the plugin calls, by the numbers in frames. */
  readonly functions: readonly WorldFunction[];
  /** The interface whose functions are run. */
  readonly endpoint: string;
}

/** Frames of the host for the thread, which has one run at a time. */
export type ToThread =
  | { readonly kind: 'run'; readonly invocation: number; readonly payload: Uint8Array }
  | { readonly kind: 'answer' | 'refuse' | 'credit'; readonly payload: Uint8Array };

export type FromThread =
  /** The thread runs. `cpuFile` is a descriptor of its computing time, where there is one. */
  | { readonly kind: 'up'; readonly cpuFile: number | undefined }
  /** A frame for the host. `isLast`: the run has ended, and the thread is free. */
  | { readonly kind: 'frame'; readonly frame: Uint8Array; readonly isLast: boolean }
  /** The run is over a limit and must end, together with the thread. */
  | { readonly kind: 'overrun'; readonly code: FailureCode; readonly reason: string };

/** The content of a frame for a run. */
export type RunContent = readonly [
  exported: number,
  limits: readonly [
    cpuMs: number,
    stretchMs: number,
    hostCalls: number,
    handles: number,
    creditBytes: number,
    outputBytes: number,
  ],
  args: readonly CborValue[],
];

export const microsOf = (ms: number): number => Math.round(ms * 1000);
const maxReason = 4_096;

/** Returns the frame that ends a run without a result. */
export const failureFrame = (id: number, cpuMs: number, code: FailureCode | 'cancelled', reason: string): Buffer =>
  frameOf(id, frameKind.failed, [], [microsOf(cpuMs), code, reason.slice(0, maxReason)]);
