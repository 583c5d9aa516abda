import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { newPluginFiles } from './new-plugin-files.ts';

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/** Creates a plugin that builds, passes its tests and works, with the name of the folder. Returns the folder. */
export async function newPlugin(path: string): Promise<string> {
  const folder = resolve(path);
  const name = basename(folder);
  if (!NAME.test(name))
    throw refused(
      `"${name}" cannot be the name of a plugin; use lower-case words joined by "-", such as ${suggestion(name)}, ` +
        `as the name of the folder`,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw refused(`${folder} is not empty; name a new or empty folder`);
  const { devDependencies } = readJson(join(packageRoot, 'package.json'));
  const files = newPluginFiles({
    name,
    dependencies: { 'aana-host': packageSpec(folder) },
    devDependencies: {
      '@types/node': devDependencies?.['@types/node'] ?? '*',
      typescript: devDependencies?.['typescript'] ?? '*',
    },
  });
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text, { flag: 'wx' });
  }
  return folder;
}

/**
 * Returns the version or path of this package for package.json: the one in the project around the plugin, which may
 * name a package that is in no registry; else this checkout; else the published version.
 */
function packageSpec(folder: string): string {
  for (let above = dirname(folder); ; above = dirname(above)) {
    const manifest = join(above, 'package.json');
    const spec = existsSync(manifest) ? readJson(manifest).dependencies?.['aana-host'] : undefined;
    if (spec !== undefined)
      return spec.startsWith('file:') ? fileSpec(folder, resolve(above, spec.slice('file:'.length))) : spec;
    if (dirname(above) === above) break;
  }
  if (!packageRoot.split(sep).includes('node_modules')) return fileSpec(folder, packageRoot);
  return readJson(join(packageRoot, 'package.json')).version ?? '*';
}

const fileSpec = (from: string, to: string): string => `file:${relative(from, to).split(sep).join('/')}`;

interface PackageJson {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const readJson = (path: string): PackageJson => JSON.parse(readFileSync(path, 'utf8')) as PackageJson;

function suggestion(name: string): string {
  const words = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join('-')
    .replace(/^[^a-z]+/, '');
  return `"${NAME.test(words) ? words : 'my-plugin'}"`;
}

const refused = (message: string): AanaError => fail('NewPluginRefused', message);
