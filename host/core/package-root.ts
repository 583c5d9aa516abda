import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder that holds `package.json`, `wit/` and `build/`; compiled files lie in `dist/host/core/` below it. */
export const packageRoot: string = fileURLToPath(new URL('../../../', import.meta.url));

/** The version in `package.json`. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(`${packageRoot}package.json`, 'utf8')) as { version: string }).version;
}
