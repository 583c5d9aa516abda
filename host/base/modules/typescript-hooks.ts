// Runs in Node's thread for module hooks, on versions of Node without support for TypeScript.
import { readFile } from 'node:fs/promises';
import type { LoadHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';

/** Removes the types from `.ts` and `.mts` files, with the code that later versions of Node use. */
export const load: LoadHook = async (url, context, nextLoad) => {
  if (!/^file:.*\.m?ts$/.test(url)) return nextLoad(url, context);
  const file = fileURLToPath(url);
  return { format: 'module', source: withoutTypes(file, await readFile(file, 'utf8')), shortCircuit: true };
};

/** Returns the code with spaces instead of types, so that stacks name the lines and columns of the source. */
function withoutTypes(file: string, source: string): string {
  try {
    return transformSync(source, { mode: 'strip-only', filename: file, module: true }).code;
  } catch (error) {
    const { message, startLine, startColumn } = error as StripError;
    throw new SyntaxError(`${file}:${startLine}:${startColumn + 1}: ${message}`);
  }
}

interface StripError {
  readonly message: string;
  readonly startLine: number;
  /** From 0. */
  readonly startColumn: number;
}
