const KEY = Symbol.for('aana-host.replica');

/** Marks this process as a replica. */
export function markReplica(): void {
  Object.defineProperty(globalThis, KEY, { value: true });
}

/**
 * Returns whether this process is a replica. An application must not start in one: the import of a deployment ran it.
 */
export function isReplica(): boolean {
  return KEY in globalThis;
}
