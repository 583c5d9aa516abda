import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { packageRoot } from '../../../base/core/package-root.ts';

/** Returns the file of SQLite's extension for vectors, from the package `sqlite-vec`. Throws `VectorsUnavailable`. */
export function vectorExtension(): string {
  try {
    const require = createRequire(join(packageRoot, 'package.json'));
    return (require('sqlite-vec') as { getLoadablePath(): string }).getLoadablePath();
  } catch (error) {
    throw vectorsUnavailable(error);
  }
}

export function vectorsUnavailable(cause: unknown): AanaError {
  const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
  return fail(
    'VectorsUnavailable',
    `SQLite's extension for vectors cannot be loaded: ${reason}; install the npm package sqlite-vec, which is an ` +
      `optional dependency of aana-host, or use PostgreSQL (DB_CONFIG)`,
    { cause },
  );
}
