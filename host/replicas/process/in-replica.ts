const KEY = Symbol.for('aana-host.replica');

/** Says that this process is a replica. */
export function markReplica(): void {
  Object.defineProperty(globalThis, KEY, { value: true });
}

/** Whether this process is a replica: an application that starts here was started by importing a deployment. */
export function isReplica(): boolean {
  return KEY in globalThis;
}
