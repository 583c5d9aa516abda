// Generated from wit/world.wit; do not edit.
/** @module Interface aana:host/invocation@0.1.0 **/
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
