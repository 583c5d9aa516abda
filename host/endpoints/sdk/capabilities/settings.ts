import type { Settings as HostSettings } from '../../../../wit/generated/world/settings.ts';
import { hostCall, HostError } from '../host-error.ts';

/** Settings that `plugin.json` declares and the operator gives. A value stays the same during a run. */
export class Settings {
  readonly #host: HostSettings;

  constructor(host: HostSettings) {
    this.#host = host;
  }

  /**
   * Returns a value; undefined when the operator gives none and there is no default. Throws `SettingDenied` for a
   * setting that `plugin.json` does not declare.
   */
  get(name: string): string | number | boolean | undefined {
    const json = hostCall(() => this.#host.get(name)) ?? undefined; // bindings return null for an absent value
    return json === undefined ? undefined : (JSON.parse(json) as string | number | boolean);
  }

  /** Returns a text. Throws `PluginNotConfigured` without a value, as the methods below. */
  string(name: string): string {
    return required(name, 'string', this.get(name));
  }

  number(name: string): number {
    return required(name, 'number', this.get(name));
  }

  boolean(name: string): boolean {
    return required(name, 'boolean', this.get(name));
  }
}

interface Types {
  string: string;
  number: number;
  boolean: boolean;
}

function required<T extends keyof Types>(name: string, type: T, value: unknown): Types[T] {
  if (value === undefined)
    throw new HostError('PluginNotConfigured', 'unavailable', `the plugin needs the setting ${name}`, {
      data: { settings: [name] },
    });
  if (typeof value !== type) throw new TypeError(`the setting ${name} is not of the type ${type}, but ${typeof value}`);
  return value as Types[T];
}
