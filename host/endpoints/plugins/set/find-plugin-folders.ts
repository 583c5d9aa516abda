import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { isComponentFile } from './manifest.ts';

/**
 * Returns the plugins at `path`: `path` itself when it is a component file or a folder with a `plugin.json`, otherwise
 * its subfolders with a `plugin.json` and the component files in it, sorted by name. Throws when there is none.
 */
export function findPluginFolders(path: string): string[] {
  const root = resolve(path);
  const found = statSync(root, { throwIfNoEntry: false });
  if (found?.isFile() && isComponentFile(root)) return [root];
  if (!found?.isDirectory()) throw notFound(`there is no folder ${root}`);
  if (isPlugin(root)) return [root];
  const plugins = readdirSync(root)
    .sort()
    .map((name) => join(root, name))
    .filter(isPlugin);
  if (plugins.length === 0)
    throw notFound(`there is no plugin in ${root}: a plugin is a folder with a plugin.json, or a .wasm file`);
  return plugins;
}

function isPlugin(path: string): boolean {
  return isComponentFile(path)
    ? (statSync(path, { throwIfNoEntry: false })?.isFile() ?? false)
    : existsSync(join(path, 'plugin.json'));
}

function notFound(message: string): AanaError {
  return fail('PluginNotFound', message);
}
