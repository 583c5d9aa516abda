import type { Storage } from './storage.ts';

/** The storage of plugins: each call is a transaction of its own. */
export class PluginStorage {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get(plugin: string, key: string): Promise<Uint8Array | undefined> {
    return this.#storage.read(({ pluginValues }) => pluginValues.get(plugin, key));
  }

  set(plugin: string, key: string, value: Uint8Array): Promise<void> {
    return this.#storage.write(({ pluginValues }) => pluginValues.set(plugin, key, value));
  }

  delete(plugin: string, key: string): Promise<boolean> {
    return this.#storage.write(({ pluginValues }) => pluginValues.delete(plugin, key));
  }

  list(plugin: string, options: { readonly prefix: string; readonly after?: string | undefined; readonly limit: number }): Promise<string[]> {
    return this.#storage.read(({ pluginValues }) => pluginValues.list(plugin, options));
  }
}
