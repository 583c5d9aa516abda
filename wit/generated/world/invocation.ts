// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `invocation` as a guest sees it. A function that fails throws the record `error`. */
export interface Invocation {
  /** The id of the request, as in the `x-request-id` header. */
  requestId(): string;
  /** Milliseconds until the host ends this invocation. */
  remainingMs(): bigint;
  /** Whether the client has gone. */
  isCancelled(): boolean;
  /** The user of the request's API key. None when no API key is required. */
  user(): string | undefined;
  /** The priority: higher is sooner, 0 for ordinary requests. */
  priority(): number;
  /**
   * The position in a distributed trace, in the form of the `traceparent` header. None when the request is in no
   * trace.
   */
  traceparent(): string | undefined;
}
