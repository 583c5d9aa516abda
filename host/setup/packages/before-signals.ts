const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const own = new WeakSet<object>();

/**
 * Calls `onSignal` when SIGINT, SIGTERM or SIGHUP arrives, before all other listeners of this process. `isAlone` is
 * true when no other part of the program listens, so that the signal would end the program. It must be called first,
 * because a listener added with `once` is removed before later listeners run. The returned function removes it.
 */
export function beforeSignals(onSignal: (name: NodeJS.Signals, isAlone: boolean) => void): () => void {
  const listener = (name: NodeJS.Signals): void => {
    const isAlone = process.listeners(name).every((other) => own.has(other));
    onSignal(name, isAlone);
  };
  own.add(listener);
  for (const name of NAMES) process.prependListener(name, listener);
  return () => {
    for (const name of NAMES) process.off(name, listener);
  };
}
