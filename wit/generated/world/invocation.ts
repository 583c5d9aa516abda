// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `invocation` as a guest sees it. A function that fails throws the record `error`. */
export interface Invocation {
  /** The id of the request, as in the `x-request-id` header. */
  requestId(): string;
  /** Milliseconds until the host ends this invocation. */
  remainingMs(): bigint;
  /** Whether the client has gone away. */
  isCancelled(): boolean;
  /** The user whose API key the request came with; none where no key is asked for. */
  user(): string | undefined;
  /** How urgent the work is: higher is sooner, 0 for ordinary requests. */
  priority(): number;
  /** The place in a distributed trace, as the `traceparent` header has it; none when the request is in no trace. */
  traceparent(): string | undefined;
}
