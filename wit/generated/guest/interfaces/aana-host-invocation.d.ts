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
   * Whether the client has gone.
   */
  export function isCancelled(): boolean;
  /**
   * The user of the request's API key. None when no API key is required.
   */
  export function user(): string | undefined;
  /**
   * The priority: higher is sooner, 0 for ordinary requests.
   */
  export function priority(): number;
  /**
   * The position in a distributed trace, in the form of the `traceparent` header. None when the request is in no
   * trace.
   */
  export function traceparent(): string | undefined;
}
