import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { configError } from './values.ts';

/** The file of variables in the working directory that is read by default. */
const ENV_FILE = '.env';
const MAX_BYTES = 1024 * 1024;
const ASSIGNMENT = /^[ \t]*(export[ \t]+)?[A-Za-z_][\w.-]*[ \t]*=[ \t]*/;
const REST = /^[ \t]*(#.*)?$/;

type Variables = Readonly<Record<string, string | undefined>>;

/** Variables, with the name under which messages refer to each. */
export interface Environment {
  readonly variables: Variables;
  sourceOf(name: string): string;
}

/**
 * Returns the variables of the process, and those of the file that the process has not. `file` is its path from `cwd`;
 * undefined is `.env` if there is one, and false is none. Throws `ConfigError`.
 */
export function withEnvFile(env: Variables, cwd: string, file: string | false | undefined): Environment {
  const path = file === false ? undefined : file === undefined ? defaultFile(cwd) : resolve(cwd, file);
  const added = path === undefined ? {} : variablesIn(path);
  const names = new Set(Object.keys(added).filter((name) => isUnset(env, name)));
  return {
    variables: { ...env, ...Object.fromEntries([...names].map((name) => [name, added[name]])) },
    sourceOf: (name) => (names.has(name) ? `variable ${name} of ${path}` : `environment variable ${name}`),
  };
}

/** An empty CUDA_VISIBLE_DEVICES means no GPU; any other empty variable counts as unset. */
const isUnset = (env: Variables, name: string): boolean =>
  env[name] === undefined || (env[name] === '' && name !== 'CUDA_VISIBLE_DEVICES');

/** A folder `.env`, as of a Python environment, is no file of variables. */
function defaultFile(cwd: string): string | undefined {
  const path = join(cwd, ENV_FILE);
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined;
}

function variablesIn(path: string): Variables {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw configError(`${path}: cannot be read: ${code ?? message}`, error);
  }
  if (text.length > MAX_BYTES) throw configError(`${path}: is larger than ${MAX_BYTES} bytes`);
  text = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  checkLines(text, path);
  return parseEnv(text);
}

/** `parseEnv` ignores what it does not understand. Messages have no part of a line, because it may be a secret. */
function checkLines(text: string, path: string): void {
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (REST.test(line)) continue;
    const fault = (what: string): Error => configError(`${path}, line ${at + 1}: ${what}`);
    const name = ASSIGNMENT.exec(line)?.[0];
    if (name === undefined) throw fault('expected NAME=value or a comment that begins with #');
    const quote = line[name.length];
    if (quote !== '"' && quote !== "'" && quote !== '`') continue;
    let [end, from] = [at, name.length + 1];
    while (end < lines.length && !lines[end]?.includes(quote, from)) [end, from] = [end + 1, 0];
    if (end === lines.length) throw fault(`the value begins with ${quote}, and no further ${quote} ends it`);
    const last = lines[end] ?? '';
    at = end;
    if (!REST.test(last.slice(last.indexOf(quote, from) + 1)))
      throw fault(`a value ends with ${quote}, and text follows`);
  }
}
