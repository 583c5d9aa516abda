import type { TracedStorage } from './storage.ts';

/** The storage of plugins for one user or for all callers. Each call is a separate transaction. */
export class PluginStorage {
  readonly #storage: Pick<TracedStorage, 'read' | 'write'>;
  readonly #userId: string | null;

  /** `userId` is the owner of the values; null is no user. */
  constructor(storage: Pick<TracedStorage, 'read' | 'write'>, userId: string | null = null) {
    this.#storage = storage;
    this.#userId = userId;
  }

  get(plugin: string, key: string): Promise<Uint8Array | undefined> {
    return this.#storage.read(({ pluginValues }) => pluginValues.get(this.#namespace(plugin), key));
  }

  set(plugin: string, key: string, value: Uint8Array): Promise<void> {
    return this.#storage.write(({ pluginValues }) => pluginValues.set(this.#namespace(plugin), key, value));
  }

  delete(plugin: string, key: string): Promise<boolean> {
    return this.#storage.write(({ pluginValues }) => pluginValues.delete(this.#namespace(plugin), key));
  }

  list(
    plugin: string,
    options: { readonly prefix: string; readonly after?: string | undefined; readonly limit: number },
  ): Promise<string[]> {
    return this.#storage.read(({ pluginValues }) => pluginValues.list(this.#namespace(plugin), options));
  }

  /** Returns the namespace of a plugin and user. Names of plugins have no slash, so namespaces are different. */
  #namespace(plugin: string): string {
    return this.#userId === null ? plugin : `${plugin}/${this.#userId}`;
  }
}
