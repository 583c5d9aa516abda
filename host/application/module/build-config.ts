import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import { parseExportPath, resolveModule } from '../../base/modules/index.ts';

export interface BuildOptions {
  /** Address to listen on. Default: 127.0.0.1, this machine only. */
  readonly host?: string | undefined;
  /** Port to listen on. Default: 8000. */
  readonly port?: number | undefined;
  /** Name of the file beside the module. Default: aana.config.json. */
  readonly config_name?: string | undefined;
}

/** Parts of an application that are written into its configuration. */
export interface Buildable {
  readonly name: string;
  readonly deployments: Readonly<Record<string, unknown>>;
  /** Absolute paths of plugin folders. */
  readonly plugins: readonly string[];
}

/**
 * Writes a configuration with which `aana-host serve --config` serves the application, and returns its path. The file
 * is beside the module of `importPath` (`<module>:<app>`, from the working directory). Other keys of an existing file
 * are kept.
 */
export async function writeAppConfig(
  app: Buildable,
  importPath: string,
  { host = '127.0.0.1', port = 8000, config_name: name = 'aana.config.json' }: BuildOptions,
): Promise<string> {
  const parsed = parseExportPath(importPath);
  if (!parsed)
    throw fail(
      'ImportError',
      `${JSON.stringify(importPath)} does not name an application; expected <module>:<app>, such as app.js:app`,
    );
  if (basename(name) !== name || !name.endsWith('.json'))
    throw fail(
      'ConfigError',
      `${JSON.stringify(name)} is not a valid name of a configuration file, such as aana.config.json`,
    );
  const module = resolveModule(parsed.module, resolve('.'));
  const folder = dirname(module);
  const file = join(folder, name);
  const own = {
    name: app.name,
    host,
    port,
    app: `./${basename(module)}:${parsed.name}`,
    deployments: app.deployments,
    ...(app.plugins.length > 0 && { plugins: app.plugins.map((path) => `./${relative(folder, path)}`) }),
  };
  await writeFile(file, `${JSON.stringify({ ...existing(file), ...own }, undefined, 2)}\n`);
  return file;
}

function existing(file: string): object {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw fail('ConfigError', `${file}: cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // the error is thrown below
  }
  throw fail(
    'ConfigError',
    `${file}: the file exists but is not a JSON object; remove it, or name another file with --config-name`,
  );
}
