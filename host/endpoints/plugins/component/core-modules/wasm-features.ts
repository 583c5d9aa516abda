import v8 from 'node:v8';
import type { RuntimeMode } from '../../invocation/protocol.ts';

/**
 * Returns how guests wait for the host in this Node: suspended where WebAssembly can (Node 24 and later), otherwise
 * each one blocks a thread.
 */
export function bestMode(): RuntimeMode {
  return typeof WebAssembly.Suspending === 'function' && typeof WebAssembly.promising === 'function'
    ? 'suspending'
    : 'blocking';
}

/**
 * Lets Node 20 compile extended constant expressions, which later versions compile by default. Must run before the
 * first module is compiled.
 */
export function enableExtendedConstants(): void {
  if (process.versions.v8.startsWith('11.')) v8.setFlagsFromString('--experimental-wasm-extended-const');
}

/**
 * Defines `promising`, because the glue looks for it at every instantiation and is slow when it is missing. Blocking
 * guests are not suspended, so it returns the function unchanged.
 */
export function standInForPromising(): void {
  WebAssembly.promising ??= (fn) => fn;
}
