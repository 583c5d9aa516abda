import type { transformSync } from 'esbuild';
import type { BundleMap } from './source-positions.ts';

interface Source {
  readonly code: string;
  readonly map: BundleMap;
  /** The expressions with `await` at the top level. */
  readonly waits: readonly { readonly offset: number; readonly end: number }[];
}

/** How generated code finds the prototype of asynchronous iterators, which it then has to be. */
const ITERATORS =
  /Object\.getPrototypeOf\(Object\.getPrototypeOf\(async function\s*\*\s*\(\)\s*\{\s*\}\)\.prototype\)/g;

/**
 * Replaces asynchronous functions, generators and loops by generators and calls of `Promise`, which is then the one of
 * the guest: the interpreter's own would wait for jobs that nothing runs. The top level waits with `aanaSettle`. Spaces
 * go, because the interpreter keeps the sources of all functions in the memory with which each invocation begins.
 */
export function lowerAsync(
  transform: typeof transformSync,
  source: Source,
): { readonly code: string; readonly map: BundleMap } {
  const inline = Buffer.from(JSON.stringify(source.map)).toString('base64');
  const code = withoutTopLevelAwait(source).replaceAll(ITERATORS, 'Object.prototype');
  const lowered = transform(`${code}\n//# sourceMappingURL=data:application/json;base64,${inline}\n`, {
    format: 'esm',
    target: 'es2023',
    supported: { 'async-await': false, 'async-generator': false, 'for-await': false, using: false },
    minifyWhitespace: true,
    lineLimit: 200,
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
  });
  return { code: lowered.code, map: JSON.parse(lowered.map) as BundleMap };
}

/** Calls a function instead, which returns when the promise is settled. */
function withoutTopLevelAwait({ code, waits }: Source): string {
  const edits = waits.flatMap(({ offset, end }) => [
    { at: offset, length: 'await'.length, text: 'aanaSettle(' },
    { at: end, length: 0, text: ')' },
  ]);
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, { at, length, text: by }) => text.slice(0, at) + by + text.slice(at + length), code);
}
