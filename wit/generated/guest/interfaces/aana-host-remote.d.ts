// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/remote@0.1.0' {
  export type Error = import('aana:host/types@0.1.0').Error;

  export class Task implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Starts `run` of this component's `endpoint` with the name `helper:<name>`. Clients cannot reach a helper. It has
    * the files, the request id and the deadline of this invocation, ends with it, and cannot start helpers.
    */
    static start(name: string, input: string): Task;
    /**
    * Returns the helper's result, or fails with the helper's error. Further calls return the same.
    */
    wait(): string;
    [Symbol.dispose](): void;
  }
}
