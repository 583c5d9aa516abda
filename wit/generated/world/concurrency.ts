// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `concurrency` as a guest sees it. A function that fails throws the record `error`. */
export interface Concurrency {
  /**
   * Makes the next call of a function that returns a `result` begin only, except `output.write`. It returns an error
   * with the name `CallStarted` at once, whose `data` is the number of the call. There can be as many started calls as
   * handles. A call that was given up counts until its work has ended.
   */
  startNext(): void;
  /**
   * Waits until one of these calls has finished, or until `milliseconds` are over. Returns the numbers of those that
   * have finished. Without calls, it only waits.
   */
  wait(calls: ArrayLike<number>, milliseconds: number | undefined): ArrayLike<number>;
  /**
   * Makes the next call of a function that returns a `result` return what the call with this number returns, which
   * must be of the same function. Its arguments are not used.
   */
  takeNext(call: number): void;
  /**
   * Gives up a call that was started, and what was asked of the next one. Nothing else happens when there is no such
   * call.
   */
  cancel(call: number): void;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface ConcurrencyCalls {
  'concurrency.wait': { readonly args: readonly [calls: ArrayLike<number>, milliseconds: number | undefined];
    readonly value: ArrayLike<number> };
}
