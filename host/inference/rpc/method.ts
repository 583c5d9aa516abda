import type { RequestContext } from '../../base/core/request-context.ts';

/** Second argument of a method. */
export interface CallContext extends RequestContext {
  /** Number of the call, if it came from another process; see {@link RequestContext.call}. */
  readonly id?: number | undefined;
  /** Number of the call of this end for whose work the call is made. */
  readonly parent?: number | undefined;
  /** The model that the caller has named, of a deployment with many. It is not passed on to further calls. */
  readonly multiplexedModelId?: string | undefined;
  /** Beginning of messages about the arguments, if their caller could check them only against JSON Schemas. */
  readonly unchecked?: string | undefined;
  /** Aborted when the caller cancels or disconnects, or when the process must stop at once. */
  readonly signal: AbortSignal;
  /**
   * Reports the part of the call that is done, from 0 to 1. It is there when the caller wants to know. Reports that do
   * not raise the whole percent are dropped, so it may be called often.
   */
  readonly progress?: ((fraction: number) => void) | undefined;
}

/**
 * A method returns a promise (one value) or an async iterable (a stream). The caller says which one it expects. Values
 * are JSON; one value may also be bytes. A stream is pulled only as fast as its reader takes values, so `yield` waits
 * for a slow reader. An argument that is a feed is an async iterable of the values that the caller sends meanwhile; it
 * can be read once.
 */
export type ServedMethod = (
  args: Record<string, unknown>,
  context: CallContext,
) => Promise<unknown> | AsyncIterable<unknown, unknown>;

/** The methods of one end, by name. */
export type ServedMethods = Readonly<Record<string, ServedMethod>>;
