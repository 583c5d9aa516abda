import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { BUILD_TOOLS, type ToolPackage } from '../../host/endpoints/plugins/build/build-tools.ts';

/** Dependencies of a checkout that a release does not install, because they are fetched when a plugin is built. */
export const NOT_INSTALLED: ReadonlySet<string> = new Set(BUILD_TOOLS);

interface LockEntry extends Omit<ToolPackage, 'name'> {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Returns packages and all that they depend on, for all platforms, by their paths in `package-lock.json`. */
export async function lockedPackages(names: readonly string[]): Promise<Map<string, ToolPackage>> {
  const { packages } = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockEntry>>;
  };
  const found = new Map<string, ToolPackage>();
  const add = (name: string, from: string): void => {
    const path = pathOf(name, from, packages);
    if (found.has(path)) return;
    const { version, integrity, os, cpu, libc, dependencies, optionalDependencies } = packages[path]!;
    found.set(path, { name, version, integrity, os, cpu, libc });
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) add(needed, `${path}/`);
  };
  for (const name of names) add(name, '');
  return found;
}

/** Returns where Node finds a package for the one at `from`. */
function pathOf(name: string, from: string, packages: Readonly<Record<string, LockEntry>>): string {
  const path = `${from}node_modules/${name}`;
  if (packages[path]) return path;
  if (from === '') throw new Error(`package-lock.json does not have ${name}`);
  return pathOf(name, from.slice(0, from.lastIndexOf('node_modules/')), packages);
}
