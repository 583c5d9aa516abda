import type { LoadOptions } from './load.ts';

/** A global symbol, because the module of an application may import another copy of this package. */
const KEY = Symbol.for('aana-host.load-options');
type Holder = { [KEY]?: LoadOptions };

/** Sets the defaults of `loadConfig` in this process: the file and the flags of the command line. */
export function setLoadDefaults(options: LoadOptions): void {
  (globalThis as Holder)[KEY] = options;
}

/** Returns the options that {@link setLoadDefaults} set; none by default. */
export function loadDefaults(): LoadOptions {
  return (globalThis as Holder)[KEY] ?? {};
}
