// Generated from wit/world.wit by `npm run generate`; do not edit.

/** A helper at work. */
export interface Task extends Disposable {
  /** What the helper returns, or fails with; the same again when asked again. */
  wait(): string;
}

/** The interface `remote` as a guest sees it. A function that fails throws the record `error`. */
export interface Remote {
  readonly Task: {
    /**
     * Begins `run` of this component's `endpoint` with the name `helper:<name>`; the helper is not an endpoint that clients can
     * reach. It has this invocation's files, request id and deadline, ends when this one does, and cannot start helpers itself.
     */
    start(name: string, input: string): Task;
  };
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface RemoteCalls {
  'remote.start': { readonly args: readonly [name: string, input: string]; readonly value: number };
  'remote.wait': { readonly args: readonly [task: number]; readonly value: string };
}
