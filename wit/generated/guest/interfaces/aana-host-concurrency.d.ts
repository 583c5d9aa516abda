// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/concurrency@0.1.0' {
  /**
   * Makes the next call of a function that returns a `result` begin only, except `output.write`. It returns an error
   * with the name `CallStarted` at once, whose `data` is the number of the call. There can be as many started calls as
   * handles. A call that was given up counts until its work has ended.
   */
  export function startNext(): void;
  /**
   * Waits until one of these calls has finished, or until `milliseconds` are over. Returns the numbers of those that
   * have finished. Without calls, it only waits.
   */
  export function wait(calls: Uint32Array, milliseconds: number | undefined): Uint32Array;
  /**
   * Makes the next call of a function that returns a `result` return what the call with this number returns, which
   * must be of the same function. Its arguments are not used.
   */
  export function takeNext(call: number): void;
  /**
   * Gives up a call that was started, and what was asked of the next one. Nothing else happens when there is no such
   * call.
   */
  export function cancel(call: number): void;
  export type Error = import('aana:host/types@0.1.0').Error;
}
