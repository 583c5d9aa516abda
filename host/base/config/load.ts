import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { deepFreeze } from '../core/deep-freeze.ts';
import { suggestion } from '../core/json/near-keys.ts';
import { loadOptionsOf, noteOrigins } from './describe.ts';
import { type Environment, withEnvFile } from './env-file.ts';
import { type Config, type ConfigInput, ConfigSchema } from './schema.ts';
import { loadDefaults } from './process-defaults.ts';
import { flagName, SECTIONS, SETTINGS } from './settings.ts';
import { configError, getAt, jsonFault, isTree, parseSetting, setAt, type Tree } from './values.ts';
import { SERVICE_MANAGER_VARIABLES } from './service-manager.ts';

/** The configuration file that is read by default. */
export const CONFIG_FILE = 'aana.config.json';

export interface LoadOptions {
  /** Folder of `aana.config.json` and of relative paths in flags and variables. Default: the working directory. */
  readonly cwd?: string;
  /** Environment variables. Default: those of the process and of `envFile`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * A file of lines `NAME=value` with variables that the process has not; false is none. Default without `env`: `.env`
   * in `cwd`, if there is one.
   */
  readonly envFile?: string | false | undefined;
  /** The file of `--config`. It must exist. */
  readonly file?: string | undefined;
  /** The text of the file, which is then not read. */
  readonly content?: string | undefined;
  /** Values of flags by the key that they set, such as `{'media.allow_paths': ['/videos']}`. */
  readonly flags?: Readonly<Record<string, string | readonly string[] | boolean | undefined>>;
  /** Values of an embedding program. They take precedence over the defaults only. */
  readonly base?: ConfigInput;
}

/**
 * Returns the configuration, merged key by key from the defaults, the file, the environment and the flags; later
 * sources take precedence. Relative paths in the file start from its folder. Throws `ConfigError`, which names the
 * source and the key.
 */
export function loadConfig(given: LoadOptions = {}): Config {
  const options = { ...loadDefaults(), ...given };
  const cwd = options.cwd ?? process.cwd();
  const envFile = options.envFile ?? (options.env === undefined ? undefined : false);
  const environment = withEnvFile(options.env ?? process.env, cwd, envFile);
  const env = environment.variables;
  const sources = new Map<string, string>();
  const tree: Tree = structuredClone(options.base ?? {}) as Tree;

  const file = options.file === undefined ? join(cwd, CONFIG_FILE) : resolve(cwd, options.file);
  if (options.content !== undefined) mergeFile(tree, parseConfigFile(options.content, file), file, sources);
  else if (options.file !== undefined || existsSync(file)) mergeFile(tree, readConfigFile(file), file, sources);
  mergeFolders(tree, environment, cwd, sources);
  mergeEnvironment(tree, environment, cwd, sources);
  mergeFlags(tree, options.flags ?? {}, cwd, sources);

  if (getAt(tree, 'app') != null) tree['deployments'] ??= {}; // the application registers its own
  if (getAt(tree, 'cache_dir') === undefined) tree['cache_dir'] = defaultDir(env, 'XDG_CACHE_HOME', '.cache');
  if (getAt(tree, 'runtime_dir') === undefined) tree['runtime_dir'] = defaultRuntimeDir(env, String(tree['cache_dir']));
  if (getAt(tree, 'data_dir') === undefined) tree['data_dir'] = defaultDir(env, 'XDG_DATA_HOME', '.local/share');
  if ((getAt(tree, DATABASE_PATH) ?? null) === null)
    setAt(tree, DATABASE_PATH, join(String(tree['data_dir']), 'aana.db'));
  const parsed = ConfigSchema.safeParse(tree, { reportInput: true });
  if (!parsed.success) throw configError(describeIssue(parsed.error.issues[0], sources, file));
  const config = deepFreeze(parsed.data) as Config;
  noteOrigins(config, { sources, base: (options.base ?? {}) as Tree, options });
  return config;
}

/**
 * Returns the configuration that a start of the program of `config` would have with another text of its file: the
 * environment, the flags and the values of the program are the same; the file of variables is read again. Throws like
 * {@link loadConfig}.
 */
export function reloadConfig(
  config: Config,
  { file, content }: { readonly file?: string | undefined; readonly content: string },
): Config {
  const options = loadOptionsOf(config) ?? {};
  return loadConfig({ ...options, file: file ?? options.file, content });
}

const DATABASE_PATH = 'db_config.datastore_config.path';

/** Returns `$XDG_DATA_HOME/aana-host` for the variable `XDG_DATA_HOME`, or `aana-host` in a folder of the home. */
function defaultDir(env: Readonly<Record<string, string | undefined>>, variable: string, inHome: string): string {
  const base = env[variable];
  return join(base?.startsWith('/') ? base : join(env['HOME'] || homedir(), inHome), 'aana-host');
}

/** `$XDG_RUNTIME_DIR/aana-host`, else the folder `run` of the cache. */
function defaultRuntimeDir(env: Readonly<Record<string, string | undefined>>, cacheDir: string): string {
  const base = env['XDG_RUNTIME_DIR'];
  return base?.startsWith('/') ? join(base, 'aana-host') : join(cacheDir, 'run');
}

function readConfigFile(path: string): Tree {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw configError(
      `${path}: cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
      error,
    );
  }
  return parseConfigFile(text, path);
}

/** Returns the values of a configuration file. Throws `ConfigError` that names `path`. */
export function parseConfigFile(text: string, path: string): Tree {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw configError(`${path}: invalid JSON: ${jsonFault(error)}`);
  }
  if (!isTree(value)) throw configError(`${path}: expected a JSON object`);
  return value;
}

function mergeFile(tree: Tree, file: Tree, path: string, sources: Map<string, string>): void {
  for (const { key, kind } of SETTINGS) {
    const value = getAt(file, key);
    if (value === undefined) continue;
    sources.set(key, path);
    if (kind === 'path' || kind === 'paths') setAt(file, key, fromFolder(value, dirname(path)));
  }
  // All of the file is merged, so that the schema can refuse unknown keys by name.
  for (const [key, value] of Object.entries(file)) {
    const group = tree[key];
    if (key === '$schema') continue;
    if (key === '__proto__')
      throw configError(`${path}: unknown key "__proto__"; the known keys are in docs/configuration.md`);
    if (key !== 'deployments' && isTree(value) && isTree(group)) Object.assign(group, value);
    else tree[key] = value;
  }
}

function fromFolder(value: unknown, folder: string): unknown {
  if (typeof value === 'string' && value !== '') return resolve(folder, value);
  return Array.isArray(value) ? value.map((item) => fromFolder(item, folder)) : value;
}

function mergeEnvironment(
  tree: Tree,
  { variables: env, sourceOf }: Environment,
  cwd: string,
  sources: Map<string, string>,
): void {
  for (const { key, env: name } of SECTIONS) {
    const text = name && env[name];
    if (!name || !text) continue;
    const source = sourceOf(name);
    const group = parseSetting(text, 'json', source, cwd);
    if (!isTree(group)) throw configError(`${source}: expected a JSON object`);
    sources.set(key, source);
    for (const [path, value] of leaves(group, key)) {
      sources.set(path, source);
      const { kind } = SETTINGS.find((setting) => setting.key === path) ?? {};
      setAt(tree, path, kind === 'path' ? fromFolder(value, cwd) : value);
    }
  }
  for (const { key, kind, env: usual, alsoEnv, isSetByEmpty = false } of SETTINGS) {
    const name = alsoEnv !== undefined && env[alsoEnv] ? alsoEnv : usual;
    const text = env[name];
    if (text === undefined || (text === '' && !isSetByEmpty)) continue;
    const source = sourceOf(name);
    sources.set(key, source);
    setAt(tree, key, parseSetting(text, kind, source, cwd));
  }
}

/**
 * Variables of the original SDK name folders that are arranged otherwise here. Variables of our own take precedence.
 */
function mergeFolders(
  tree: Tree,
  { variables: env, sourceOf }: Environment,
  cwd: string,
  sources: Map<string, string>,
): void {
  for (const { key, folders = [] } of SETTINGS)
    for (const { env: name, within = '' } of folders) {
      const folder = env[name];
      if (!folder) continue;
      sources.set(key, sourceOf(name));
      setAt(tree, key, resolve(cwd, folder, within));
    }
}

/** Returns all values nested in an object, each with its path. */
function leaves(tree: Tree, path: string): [path: string, value: unknown][] {
  return Object.entries(tree).flatMap(([name, value]) =>
    isTree(value) ? leaves(value, `${path}.${name}`) : [[`${path}.${name}`, value] satisfies [string, unknown]],
  );
}

function mergeFlags(
  tree: Tree,
  flags: NonNullable<LoadOptions['flags']>,
  cwd: string,
  sources: Map<string, string>,
): void {
  for (const setting of SETTINGS) {
    const value = flags[setting.key];
    if (value === undefined) continue;
    const source = flagName(setting) ?? setting.key;
    sources.set(setting.key, source);
    if (typeof value === 'boolean') setAt(tree, setting.key, value);
    else if (typeof value === 'string') setAt(tree, setting.key, parseSetting(value, setting.kind, source, cwd));
    else
      setAt(
        tree,
        setting.key,
        value.map((text) => (setting.kind === 'paths' ? resolve(cwd, text) : text)),
      );
  }
}

/**
 * Returns the environment of child processes: `env` with the configured `CUDA_VISIBLE_DEVICES` and without the
 * variables of the service manager.
 */
export function childEnvironment(config: Config, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const all = { ...env };
  for (const name of SERVICE_MANAGER_VARIABLES) delete all[name];
  if (config.cuda_visible_devices !== null) all['CUDA_VISIBLE_DEVICES'] = config.cuda_visible_devices;
  return all;
}

/**
 * Returns PEM files of certificate authorities that outgoing requests trust in addition to those of Node.
 * NODE_EXTRA_CA_CERTS is included only with `ca_file`, because Node reads the variable itself unless it is given
 * authorities.
 */
export function authorityFiles({ outgoing }: Config): readonly string[] {
  if (outgoing.ca_file === null) return [];
  const extra = process.env['NODE_EXTRA_CA_CERTS'];
  return extra ? [outgoing.ca_file, extra] : [outgoing.ca_file];
}

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  /** Issues of the name of a key. */
  readonly issues?: readonly { readonly message: string }[] | undefined;
}

function describeIssue(issue: Issue | undefined, sources: Map<string, string>, file: string): string {
  if (!issue) return 'the configuration is invalid';
  const path = issue.path.map(String);
  const key = path.join('.');
  if (issue.code === 'unrecognized_keys' && 'keys' in issue) {
    const names = issue.keys as string[];
    const unknown = names.map((name) => `"${[...path, name].join('.')}"`);
    const known = [...SECTIONS, ...SETTINGS].map((one) => one.key);
    const hint = suggestion(names[0] ?? '', path, known) || '; the known keys are in docs/configuration.md';
    return `${file}: unknown key ${unknown.join(', ')}${hint}`;
  }
  const reason = (issue.code === 'invalid_key' && issue.issues?.[0]?.message) || issue.message;
  const source =
    [...path.keys()].map((i) => sources.get(path.slice(0, i + 1).join('.'))).find((found) => found !== undefined) ??
    [...sources].find(([set]) => set.startsWith(`${key}.`))?.[1] ??
    file;
  const given =
    issue.input === undefined ||
    typeof issue.input === 'object' ||
    /(password|token|secret|secret_access_key|headers\.\d+)$|^plugin_settings(\.|$)/.test(key)
      ? ''
      : ` (it is ${JSON.stringify(issue.input)})`;
  return `${source}: ${key === '' ? '' : `"${key}": `}${reason}${given}`;
}
