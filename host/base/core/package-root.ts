import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The folder of `package.json`, `wit/` and `build/`. The code of this module runs in `dist/host/base/core/` or
 * `bundle/host/base/core/` below it.
 */
export const packageRoot: string = fileURLToPath(new URL('../../../../', import.meta.url));

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifest = (): Manifest => JSON.parse(readFileSync(`${packageRoot}package.json`, 'utf8')) as Manifest;

/** Returns the version in `package.json`. */
export const packageVersion = (): string => manifest().version;

/** Returns the version of an npm package that `package.json` names, installed or not. */
export function dependencyVersion(name: string): string {
  const { dependencies, devDependencies } = manifest();
  const version = { ...devDependencies, ...dependencies }[name];
  if (version === undefined) throw new Error(`package.json does not name ${name}`);
  return version;
}
