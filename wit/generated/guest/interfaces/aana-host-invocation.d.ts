// Generated from wit/world.wit by `npm run generate`; do not edit.
declare module 'aana:host/invocation@0.1.0' {
  /**
   * The id of the request, as in the `x-request-id` header.
   */
  export function requestId(): string;
  /**
   * Milliseconds until the host ends this invocation.
   */
  export function remainingMs(): bigint;
  /**
   * Whether the client has gone away.
   */
  export function isCancelled(): boolean;
  /**
   * The user whose API key the request came with; none where no key is asked for.
   */
  export function user(): string | undefined;
  /**
   * How urgent the work is: higher is sooner, 0 for ordinary requests.
   */
  export function priority(): number;
  /**
   * The place in a distributed trace, as the `traceparent` header has it; none when the request is in no trace.
   */
  export function traceparent(): string | undefined;
}
