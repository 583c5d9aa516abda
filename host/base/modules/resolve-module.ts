import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fail } from '../core/errors.ts';

const EXTENSIONS = ['', '.js', '.mjs', '.ts', '.mts', '.cjs'];

/** An export of a module, such as `app.js:app`. */
export interface ExportPath {
  /** A file, with or without its extension, or a package. */
  readonly module: string;
  readonly name: string;
}

/** Parses `<module>:<name>`. Returns undefined for other texts. */
export function parseExportPath(text: string): ExportPath | undefined {
  const [, module, name] = /^(.+):([A-Za-z_$][\w$]*)$/.exec(text) ?? [];
  return module === undefined || name === undefined ? undefined : { module, name };
}

/** Returns the file of a module in `folder`, or of an installed package. Throws `ImportError`. */
export function resolveModule(module: string, folder: string): string {
  const file = EXTENSIONS.map((extension) => resolve(folder, `${module}${extension}`)).find((path) =>
    statSync(path, { throwIfNoEntry: false })?.isFile(),
  );
  if (file !== undefined) return file;
  try {
    return createRequire(join(folder, 'package.json')).resolve(module);
  } catch (cause) {
    throw fail(
      'ImportError',
      `Could not import ${module}: there is no such file in ${folder}, and no such package is installed`,
      { cause },
    );
  }
}
