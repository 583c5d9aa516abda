import type { transformSync } from 'esbuild';
import type { LoadingCode } from './loading-code.ts';
import type { BundleMap } from './source-positions.ts';

interface Source {
  readonly code: string;
  readonly map: BundleMap;
  readonly loading: readonly LoadingCode[];
}

/** How generated code finds the prototype of asynchronous iterators, which it then has to be. */
const ITERATORS =
  /Object\.getPrototypeOf\(Object\.getPrototypeOf\(async function\s*\*\s*\(\)\s*\{\s*\}\)\.prototype\)/g;

/** Where generated code has its helper for asynchronous functions. The guest has its own. */
const HELPER = 'var __async=';

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
  const code = withCalls(source).replaceAll(ITERATORS, 'Object.prototype');
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
  return {
    code: lowered.code.replace(HELPER, `${HELPER}(self,args,body)=>aanaAsync(self,args,body),__unused=`),
    map: JSON.parse(lowered.map) as BundleMap,
  };
}

/**
 * Calls functions of the guest where esbuild does not help: `await` at the top level becomes a call that returns when
 * the promise is settled. What `yield*` of an ordinary generator iterates loses its asynchronous iterator, which
 * esbuild's code prefers there, too.
 */
function withCalls({ code, loading }: Source): string {
  const edits = loading.flatMap(({ kind, offset, end }) => {
    if (kind !== 'await' && kind !== 'yield*') return [];
    const call =
      kind === 'await'
        ? { at: offset, length: 'await'.length, text: 'aanaSettle(' }
        : { at: offset, length: 0, text: 'aanaIterate((' };
    return [call, { at: end, length: 0, text: kind === 'await' ? ')' : '))' }];
  });
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, { at, length, text: by }) => text.slice(0, at) + by + text.slice(at + length), code);
}
