// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-deployments.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/output@0.1.0' {
  /**
   * Sends one JSON value to the client. It may return before the client has received the value. Fails with `cancelled`
   * when the client has gone.
   */
  export function write(chunk: string): void;
  /**
   * Sends all remaining values of a stream, without entering the guest for each one.
   */
  export function forward(source: Chunks): void;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type Chunks = import('aana:host/deployments@0.1.0').Chunks;
}
