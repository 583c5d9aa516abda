// Generated from wit/world.wit; do not edit.
/** @module Interface aana:host/output@0.1.0 **/
/**
 * Sends one JSON value to the client; returns when the client has room for more, fails with `cancelled` when it has gone.
 */
export function write(chunk: string): void;
/**
 * Sends all that is left of a stream without entering the guest for each value.
 */
export function forward(source: Chunks): void;
export type Error = import('./aana-host-types.js').Error;
export type Chunks = import('./aana-host-deployments.js').Chunks;
