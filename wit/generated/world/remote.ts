// Generated from wit/world.wit by `npm run generate`; do not edit.

/** A running helper. */
export interface Task extends Disposable {
  /** Returns the helper's result, or fails with the helper's error. Further calls return the same. */
  wait(): string;
}

/** The interface `remote` as a guest sees it. A function that fails throws the record `error`. */
export interface Remote {
  readonly Task: {
    /**
     * Starts `run` of this component's `endpoint` with the name `helper:<name>`. Clients cannot reach a helper. It has
     * the files, the request id and the deadline of this invocation, ends with it, and cannot start helpers.
     */
    start(name: string, input: string): Task;
  };
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface RemoteCalls {
  'remote.start': { readonly args: readonly [name: string, input: string]; readonly value: number };
  'remote.wait': { readonly args: readonly [task: number]; readonly value: string };
}
