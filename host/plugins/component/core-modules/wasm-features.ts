import v8 from 'node:v8';
import type { RuntimeMode } from '../../invocation/protocol.ts';

/**
 * How guests wait for the host in this Node: suspended where WebAssembly can (Node 24 and later), else blocking a
 * thread each.
 */
export function bestMode(): RuntimeMode {
  return typeof WebAssembly.Suspending === 'function' && typeof WebAssembly.promising === 'function'
    ? 'suspending'
    : 'blocking';
}

/**
 * Lets Node 20 compile constant expressions that later versions know by themselves. Must run before the first module is
 * compiled.
 */
export function enableExtendedConstants(): void {
  if (process.versions.v8.startsWith('11.')) v8.setFlagsFromString('--experimental-wasm-extended-const');
}

/** The glue looks for `promising` at every instantiation and is slow when it misses it; blocking guests need none. */
export function standInForPromising(): void {
  WebAssembly.promising ??= (fn) => fn;
}
