import { delimiter, resolve } from 'node:path';
import { type AanaError, fail } from '../core/errors.ts';

/** How a text from the environment or the command line is turned into the value of a key. */
export type SettingKind = 'text' | 'path' | 'number' | 'boolean' | 'paths' | 'list' | 'json';

export function configError(message: string, cause?: unknown): AanaError {
  return fail('ConfigError', message, { cause });
}

/** Returns V8's message about invalid JSON without the quoted text, because that may contain a password. */
export function jsonFault(error: unknown): string {
  return (error as Error).message.replace(/, (\.\.\.)?"[^]*"(\.\.\.)? is not valid JSON$/, '');
}

const TRUE = new Set(['true', '1', 'yes', 'on']);
const FALSE = new Set(['false', '0', 'no', 'off']);

/** Returns the value of a text. Messages name `source`; relative paths start from `base`. Throws `ConfigError`. */
export function parseSetting(text: string, kind: SettingKind, source: string, base: string): unknown {
  switch (kind) {
    case 'text':
      return text;
    case 'path':
      return resolve(base, text);
    case 'number': {
      const value = Number(text);
      if (text.trim() === '' || !Number.isFinite(value)) throw configError(`${source}: "${text}" is not a number`);
      return value;
    }
    case 'boolean': {
      const word = text.toLowerCase();
      if (!TRUE.has(word) && !FALSE.has(word)) throw configError(`${source}: "${text}" is not "true" or "false"`);
      return TRUE.has(word);
    }
    case 'paths':
      return text
        .split(delimiter)
        .filter((part) => part !== '')
        .map((part) => resolve(base, part));
    case 'list':
      if (text.trimStart().startsWith('[')) return parseJson(text, source);
      return text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
    case 'json':
      return parseJson(text, source);
    default:
      return kind satisfies never;
  }
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw configError(`${source}: invalid JSON: ${jsonFault(error)}`);
  }
}

export type Tree = Record<string, unknown>;

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value at a dotted path, or undefined. */
export function getAt(tree: Tree, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((at, part) => (isTree(at) && Object.hasOwn(at, part) ? at[part] : undefined), tree);
}

/** Sets the value at a dotted path. Does nothing if a parent is not an object; the schema then refuses that parent. */
export function setAt(tree: Tree, key: string, value: unknown): void {
  const parts = key.split('.');
  const last = parts.pop() ?? '';
  let at = tree;
  for (const part of parts) {
    if (!Object.hasOwn(at, part)) at[part] = {};
    const next = at[part];
    if (!isTree(next)) return;
    at = next;
  }
  at[last] = value;
}
