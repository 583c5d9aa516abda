import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The folder of `package.json`, `wit/` and `build/`. The code of this module runs in `dist/host/core/` or
 * `bundle/host/core/` below it.
 */
export const packageRoot: string = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the version in `package.json`. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(`${packageRoot}package.json`, 'utf8')) as { version: string }).version;
}
