import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AanaError } from '../core/errors.ts';

/** The plugin folders at `path`: itself when it holds a `plugin.json`, else its subfolders that do, by name. Throws when there is none. */
export function findPluginFolders(path: string): string[] {
  const root = resolve(path);
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) throw notFound(`there is no folder ${root}`);
  if (isPlugin(root)) return [root];
  const folders = readdirSync(root)
    .sort()
    .map((name) => join(root, name))
    .filter(isPlugin);
  if (folders.length === 0) throw notFound(`there is no plugin in ${root}: a plugin is a folder with a plugin.json`);
  return folders;
}

function isPlugin(folder: string): boolean {
  return existsSync(join(folder, 'plugin.json'));
}

function notFound(message: string): AanaError {
  return new AanaError('PluginNotFound', 'not-found', message);
}
