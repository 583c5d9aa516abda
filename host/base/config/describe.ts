import { isDeepStrictEqual } from 'node:util';
import { type GivenSettings, givenSetting } from '../core/secrets/given-settings.ts';
import { HIDDEN } from '../core/secrets/text-mask.ts';
import type { LoadOptions } from './load.ts';
import type { Config } from './schema.ts';
import { type Setting, SETTINGS } from './settings.ts';
import { getAt, isTree, type Tree } from './values.ts';

/** The value of one key of a configuration, without secrets. */
export interface ConfigValue {
  /** Path in the file, with dots. */
  readonly key: string;
  readonly value: unknown;
  /** Where the value comes from: a file, `environment variable …`, a flag, `the program`, or `default`. */
  readonly origin: string;
}

/** What a configuration was made of. */
interface Origins {
  /** The file, the variable or the flag of each key. */
  readonly sources: ReadonlyMap<string, string>;
  /** The values of the program. */
  readonly base: Tree;
  readonly options: LoadOptions;
}

const ORIGINS = new WeakMap<Config, Origins>();

/** Keeps where the values of a configuration come from. */
export function noteOrigins(config: Config, origins: Origins): void {
  ORIGINS.set(config, origins);
}

/** Returns the options that a configuration was loaded with. Undefined for one that was not loaded. */
export function loadOptionsOf(config: Config): LoadOptions | undefined {
  return ORIGINS.get(config)?.options;
}

/** Returns the settings whose values differ, in the order of the documentation, with the values of `next`. */
export function changedSettings(now: Config, next: Config): (Setting & { readonly value: unknown })[] {
  const [before, after] = [now, next] as unknown as readonly [Tree, Tree];
  return SETTINGS.map((setting) => ({ ...setting, value: getAt(after, setting.key) })).filter(
    ({ key, value }) => !isDeepStrictEqual(getAt(before, key), value),
  );
}

/** Returns the values of all keys in the order of the documentation. Secrets are left out. */
export function describeConfig(config: Config): ConfigValue[] {
  const origins = ORIGINS.get(config);
  return SETTINGS.map(({ key }) => ({
    key,
    value:
      key === 'plugin_settings'
        ? withoutLiterals(config.plugin_settings)
        : withoutSecrets(getAt(config as unknown as Tree, key) ?? null, key),
    origin: originOf(key, origins),
  }));
}

function originOf(key: string, origins: Origins | undefined): string {
  const source = origins?.sources.get(key);
  if (source !== undefined) return source;
  return origins && getAt(origins.base, key) !== undefined ? 'the program' : 'default';
}

/** The configuration does not know which settings of plugins are secret. */
function withoutLiterals(given: GivenSettings): GivenSettings {
  const shown = (values: GivenSettings[string]): GivenSettings[string] =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        key,
        givenSetting(key, value).by === 'configuration' ? HIDDEN : value,
      ]),
    );
  return Object.fromEntries(Object.entries(given).map(([plugin, values]) => [plugin, shown(values)]));
}

const SECRET = /(^|[._-])(password|passwd|token|secret|secret_access_key|api_?key|headers|authorization)$/i;
/** User and password in a URL. */
const CREDENTIALS = /(?<=\/\/)[^/@\s]+@/g;

/** Returns whether the value of a key or variable of this name is secret. */
export const isSecretName = (name: string): boolean => SECRET.test(name);

function withoutSecrets(value: unknown, name: string): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (isSecretName(name)) return Array.isArray(value) && value.length === 0 ? value : HIDDEN;
  if (typeof value === 'string') return value.replace(CREDENTIALS, `${HIDDEN}@`);
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, ''));
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner, key)]));
}
