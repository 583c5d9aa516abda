const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const own = new WeakSet<object>();

/**
 * Calls `onSignal` when a signal comes that ends a program, before all other listeners of this process. `isAlone` says
 * that no other part of the program listens, so that the signal would end it. Comes first because a listener that was
 * added with `once` is gone when those after it are called. Returns a function that ends this.
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
