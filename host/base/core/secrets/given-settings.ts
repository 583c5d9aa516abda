/** A value in the configuration for a setting of a plugin. */
export type GivenValue = string | number | boolean;

/**
 * Values for settings of plugins, by the plugin's name. `x` is the value of the setting `x`, `x_env` names an
 * environment variable with it, and `x_file` the absolute path of a file with it.
 */
export type GivenSettings = Readonly<Record<string, Readonly<Record<string, GivenValue>>>>;

/** How the operator gives a setting. */
export interface GivenSetting {
  readonly name: string;
  readonly by: 'configuration' | 'environment' | 'file';
  /** The value itself, the name of a variable or the path of a file. */
  readonly value: GivenValue;
}

const SUFFIX = /_(env|file)$/;

/** Names that no setting may have, because they say where another setting has its value. */
export const isReserved = (name: string): boolean => SUFFIX.test(name);

/** Returns which setting a key of the configuration gives, and how. */
export function givenSetting(key: string, value: GivenValue): GivenSetting {
  const suffix = SUFFIX.exec(key)?.[1];
  const by = suffix === undefined ? 'configuration' : suffix === 'env' ? 'environment' : 'file';
  return { name: key.replace(SUFFIX, ''), by, value };
}

/** Returns all settings that a value of the configuration gives. What does not have the form is left out. */
export function givenIn(values: unknown): GivenSetting[] {
  return Object.values(values ?? {})
    .flatMap((each) => Object.entries(each ?? {}))
    .map(([key, value]) => givenSetting(key, value as GivenValue));
}
