import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

let isRegistered = false;

/** Lets this process import `.ts` files on versions of Node without support for TypeScript. */
function readTypeScript(): void {
  if (isRegistered || (process.features as { typescript?: unknown }).typescript) return;
  isRegistered = true;
  register('./typescript-hooks.js', import.meta.url);
}

/** Imports a module of the user, in JavaScript or TypeScript, and returns its exports. */
export async function importModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (/\.m?ts$/.test(file)) readTypeScript(); // only now, because it costs a thread and some megabytes
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
}
