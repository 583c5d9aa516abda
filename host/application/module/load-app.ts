import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { AanaApp } from '../app.ts';
import { fail } from '../../base/core/errors.ts';
import { importModule, parseExportPath, resolveModule } from '../../base/modules/index.ts';

/** Marks applications, also those of another copy of this package. */
export const APP_BRAND: unique symbol = Symbol.for('aana-host.application') as never;
/** Version of the interface that commands use. Incremented when it changes. */
export const APP_BRAND_VERSION = 1;

export interface LoadedApp {
  readonly app: AanaApp;
  /** The module's file. */
  readonly file: string;
  /** Name of the export. */
  readonly name: string;
}

/**
 * Imports the application that `<module>:<app>` names. Throws `ImportError`, or `TypeError` when the export is not an
 * application, with a message of one sentence.
 */
export async function loadApp(path: string, folder: string): Promise<LoadedApp> {
  const parsed = parseExportPath(path);
  if (!parsed)
    throw fail(
      'ImportError',
      `${JSON.stringify(path)} does not name an application; expected <module>:<app>, such as app.js:app`,
    );
  const file = resolveModule(parsed.module, folder);
  const exported = await imported(file);
  if (!Object.hasOwn(exported, parsed.name)) {
    throw fail(
      'ImportError',
      `Could not import ${parsed.name} from ${file}: the module exports ` +
        `${Object.keys(exported).join(', ') || 'nothing'}`,
    );
  }
  const app = exported[parsed.name];
  const version = (app as { [APP_BRAND]?: number } | null | undefined)?.[APP_BRAND];
  if (version === undefined) throw fail('TypeError', `${parsed.name} of ${file} is not an AanaApp, but ${nameOf(app)}`);
  if (version !== APP_BRAND_VERSION)
    throw fail(
      'TypeError',
      `${parsed.name} of ${file} is an AanaApp of another version of aana-host than this command; run the command ` +
        `that is installed there`,
    );
  return { app: app as AanaApp, file, name: parsed.name };
}

async function imported(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await importModule(file);
  } catch (cause) {
    const { name, message } = cause instanceof Error ? cause : { name: 'Error', message: String(cause) };
    // Our messages are complete without the name.
    const isOurs = typeof (cause as { kind?: unknown } | null)?.kind === 'string';
    throw fail(
      'ImportError',
      `Could not import ${file}${placeIn(file, cause)}: ${isOurs ? '' : `${name}: `}${message.split('\n')[0]}`,
      { cause },
    );
  }
}

/** Returns `, line 3` if the error's stack names a line of the file. */
function placeIn(file: string, cause: unknown): string {
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  const found = stack.split('\n').find((line) => line.includes(`${basename(file)}:`));
  const line = found && new RegExp(`${basename(file).replaceAll('.', '\\.')}:(\\d+)`).exec(found)?.[1];
  return line === undefined || Number(line) > readFileSync(file, 'utf8').split('\n').length ? '' : `, line ${line}`;
}

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return value === null ? 'null' : typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? 'no class'}`;
}
