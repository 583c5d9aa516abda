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
    * Begins `run` of this component's `endpoint` with the name `helper:<name>`; the helper is not an endpoint that clients can
    * reach. It has this invocation's files, request id and deadline, ends when this one does, and cannot start helpers itself.
    */
    static start(name: string, input: string): Task;
    /**
    * What the helper returns, or fails with; the same again when asked again.
    */
    wait(): string;
    [Symbol.dispose](): void;
  }
}
