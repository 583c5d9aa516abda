import type { RequestContext } from '../core/request-context.ts';

/** What a method gets beside its arguments. */
export interface CallContext extends RequestContext {
  /** Aborts when the caller cancelled, went away, or the process is told to stop at once. */
  readonly signal: AbortSignal;
}

/**
 * A method returns a promise (one value) or an async iterable (a stream); the caller says which one it expects. Values
 * are JSON. A stream is pulled only as fast as its reader takes values, so a generator that waits inside `yield` is
 * being held back.
 */
export type ServedMethod = (
  args: Record<string, unknown>,
  context: CallContext,
) => Promise<unknown> | AsyncIterable<unknown>;

/** The methods of one end, by their names. */
export type ServedMethods = Readonly<Record<string, ServedMethod>>;
