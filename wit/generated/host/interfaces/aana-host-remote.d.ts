// Generated from wit/world.wit; do not edit.
/** @module Interface aana:host/remote@0.1.0 **/
export type Error = import('./aana-host-types.js').Error;

export class Task {
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
}
