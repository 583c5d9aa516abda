import type { LoadOptions } from './load.ts';

/** By this name also another copy of the package, which the module of an application may import, finds it. */
const KEY = Symbol.for('aana-host.load-options');
type Holder = { [KEY]?: LoadOptions };

/** What `loadConfig` starts from in this process from now on: the file and the flags of the command line. */
export function setLoadDefaults(options: LoadOptions): void {
  (globalThis as Holder)[KEY] = options;
}

export function loadDefaults(): LoadOptions {
  return (globalThis as Holder)[KEY] ?? {};
}
