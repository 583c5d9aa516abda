import { type AanaError, errorLogFields, fail } from '../../../base/core/errors.ts';
import { type GivenSetting, givenSetting, type GivenValue } from '../../../base/core/secrets/given-settings.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { mapTexts, partialMask } from '../../../base/core/secrets/text-mask.ts';
import {
  type Checked,
  checkedValue,
  type DeclaredSetting,
  type DeclaredSettings,
  parsedValue,
  type SettingValue,
} from './declared-settings.ts';
import { type FileText, readSettingFile } from './setting-file.ts';

/** A setting of a plugin, for operators. It has no value. */
export interface SettingState {
  readonly name: string;
  /** Null for a setting that the plugin does not declare. */
  readonly type: DeclaredSetting['type'] | null;
  readonly description: string;
  readonly secret: boolean;
  readonly required: boolean;
  /** `invalid`: a value is given and cannot be used. `undeclared`: the plugin does not declare what is given. */
  readonly state: 'set' | 'default' | 'missing' | 'invalid' | 'undeclared';
  /** Where a value is given, such as `environment variable NEWS_KEY`. */
  readonly origin: string | null;
  /** Why the value cannot be used. */
  readonly problem: string | null;
}

/** The values of a plugin's settings for one invocation. */
export interface SettingValues {
  /** Returns a value as JSON; undefined if the setting has none. Throws `SettingDenied`. */
  get(name: string): string | undefined;
  /** Returns the reason why the plugin cannot run; undefined if it can. */
  refusal(): AanaError | undefined;
  /** Returns a JSON value without the secrets. Undefined if there are none. */
  readonly mask: (<T>(value: T) => T) | undefined;
  readonly secrets: readonly string[];
  readonly states: readonly SettingState[];
}

/** The values of a plugin that declares no settings. */
export const noSettings: SettingValues = valuesOf('', []);

export interface PluginSettingsOptions {
  readonly plugin: string;
  readonly declared: DeclaredSettings;
  /** Returns what the operator gives the plugin now: the same object until that changes. */
  given(): Given | undefined;
  /** Variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
}

type Given = Readonly<Record<string, GivenValue>>;
/** A setting with its value, if it has one. */
interface Resolved {
  readonly about: SettingState;
  readonly value: SettingValue | undefined;
}

const nothing: Given = {};

/** The settings of one plugin, with the values that the configuration, the environment and files have now. */
export class PluginSettings {
  readonly #options: PluginSettingsOptions;
  #given: Given | undefined;
  #sources: readonly GivenSetting[] = [];
  #said: readonly FileText[] = [];
  #values: SettingValues = noSettings;

  constructor(options: PluginSettingsOptions) {
    this.#options = options;
  }

  /** Returns the present values: the same object until one of them changes. */
  read(): SettingValues {
    const { declared } = this.#options;
    const given = this.#options.given() ?? nothing;
    const isSame = given === this.#given;
    if (!isSame) this.#sources = Object.entries(given).map(([key, value]) => givenSetting(key, value));
    this.#given = given;
    const said = this.#sources.map((source, at) =>
      Object.hasOwn(declared, source.name) ? this.#read(source, isSame ? this.#said[at] : undefined) : {},
    );
    const changed = said.some(
      ({ text, problem }, at) => text !== this.#said[at]?.text || problem !== this.#said[at]?.problem,
    );
    if (isSame && !changed) return this.#values;
    this.#said = said;
    this.#values = valuesOf(this.#options.plugin, this.#resolved());
    this.#warn(this.#values);
    return this.#values;
  }

  #read({ by, value }: GivenSetting, before: FileText | undefined): FileText {
    if (by === 'configuration') return {};
    return by === 'file' ? readSettingFile(String(value), before) : { text: this.#options.env[String(value)] };
  }

  #resolved(): Resolved[] {
    const { declared } = this.#options;
    const known = Object.entries(declared).map(([name, one]) => {
      const at = this.#sources.findIndex((source) => source.name === name);
      return resolved(name, one, this.#sources[at], this.#said[at]);
    });
    const others = this.#sources.filter(({ name }) => !Object.hasOwn(declared, name));
    const nothing = { type: null, description: '', secret: false, required: false, problem: null };
    return [
      ...known,
      ...others.map((source): Resolved => {
        const about = { name: source.name, ...nothing, origin: originOf(source), state: 'undeclared' as const };
        return { about, value: undefined };
      }),
    ];
  }

  #warn({ states, refusal }: SettingValues): void {
    const { plugin, log } = this.#options;
    const others = states.filter(({ state }) => state === 'undeclared').map(({ name }) => name);
    if (others.length > 0)
      log.warn('plugin_settings has settings that the plugin does not declare', { plugin, settings: others });
    const error = refusal();
    if (error) log.warn('plugin lacks settings, and answers with 503', { plugin, ...errorLogFields(error) });
  }
}

function resolved(name: string, declared: DeclaredSetting, source?: GivenSetting, said: FileText = {}): Resolved {
  const { type, description, secret, required, default: usual } = declared;
  const known = { name, type, description, secret, required, origin: source ? originOf(source) : null };
  const checked = source && checkedOf(declared, source, said);
  if (checked && 'problem' in checked)
    return { about: { ...known, state: 'invalid', problem: checked.problem }, value: undefined };
  if (checked) return { about: { ...known, state: 'set', problem: null }, value: checked.value };
  const problem = source ? (source.by === 'environment' ? 'it is not set' : 'it is empty') : null;
  return { about: { ...known, state: usual === undefined ? 'missing' : 'default', problem }, value: usual };
}

/** Returns undefined if no value is given. An empty text is none. */
function checkedOf(
  declared: DeclaredSetting,
  { by, value }: GivenSetting,
  { text, problem }: FileText,
): Checked | undefined {
  if (problem !== undefined) return { problem };
  if (by === 'configuration') return value === '' ? undefined : checkedValue(value, declared);
  return text ? parsedValue(text, declared) : undefined;
}

function originOf({ by, value }: GivenSetting): string {
  if (by === 'configuration') return 'configuration';
  return by === 'file' ? `file ${value}` : `environment variable ${value}`;
}

function valuesOf(plugin: string, all: readonly Resolved[]): SettingValues {
  const states = all.map(({ about }) => about);
  const json = new Map(
    all
      .filter(({ about }) => about.state !== 'undeclared')
      .map(({ about, value }) => [about.name, value === undefined ? undefined : JSON.stringify(value)]),
  );
  const secrets = all.flatMap(({ about, value }) => (about.secret && typeof value === 'string' ? [value] : []));
  const lacking = states.filter(({ state, required }) => state === 'invalid' || (required && state === 'missing'));
  const hide = partialMask(secrets);
  return {
    get: (name) => {
      if (json.has(name)) return json.get(name);
      throw fail('SettingDenied', `the plugin.json of this plugin does not declare the setting ${name}`, {
        data: { setting: name },
      });
    },
    refusal: () => (lacking.length > 0 ? notConfigured(plugin, lacking) : undefined),
    mask: secrets.length > 0 ? (value) => mapTexts(value, hide) as typeof value : undefined,
    secrets,
    states,
  };
}

/** Clients see the names of the settings, and only the log says where their values were looked for. */
function notConfigured(plugin: string, lacking: readonly SettingState[]): AanaError {
  const names = lacking.map(({ name }) => name);
  const said = lacking.map(
    ({ name, description, state }) =>
      `${name} (${description}) has ${state === 'missing' ? 'no value' : 'a value that cannot be used'}`,
  );
  const example = Object.fromEntries(names.map((name) => [`${name}_file`, `/path/${name}`]));
  return fail(
    'PluginNotConfigured',
    `plugin ${plugin} needs settings: ${said.join('; ')}; the operator of the server gives them, such as ` +
      `"plugin_settings": ${JSON.stringify({ [plugin]: example })}`,
    {
      data: { plugin, settings: names },
      logFields: {
        settings: lacking.map(({ name, origin, problem }) => [name, origin, problem].filter(Boolean).join(': ')),
      },
    },
  );
}
