import type { RequestContext } from '../core/request-context.ts';

/** Second argument of a method. */
export interface CallContext extends RequestContext {
  /** Aborted when the caller cancels or disconnects, or when the process must stop at once. */
  readonly signal: AbortSignal;
}

/**
 * A method returns a promise (one value) or an async iterable (a stream). The caller says which one it expects. Values
 * are JSON. A stream is pulled only as fast as its reader takes values, so `yield` waits for a slow reader.
 */
export type ServedMethod = (
  args: Record<string, unknown>,
  context: CallContext,
) => Promise<unknown> | AsyncIterable<unknown, unknown>;

/** The methods of one end, by name. */
export type ServedMethods = Readonly<Record<string, ServedMethod>>;
