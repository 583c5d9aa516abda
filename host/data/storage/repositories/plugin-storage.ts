import { fail } from '../../../base/core/errors.ts';
import type { Connection } from '../database.ts';
import { loadStatements, Repository } from '../statements.ts';
import type { TracedStorage } from '../storage.ts';

const sql = loadStatements('plugin-values', ['get', 'lockUsage', 'size', 'set', 'setUsage', 'remove', 'list']);

export interface PluginValueLimits {
  readonly maxValueBytes: number;
  /** Most values of one plugin. */
  readonly maxKeys: number;
  /** Most bytes of all values of one plugin. */
  readonly maxBytes: number;
}

const MIB = 1024 ** 2;
const LIMITS: PluginValueLimits = { maxValueBytes: MIB, maxKeys: 10_000, maxBytes: 64 * MIB };
const MAX_KEY_BYTES = 120;

interface Usage {
  readonly keys: number;
  readonly bytes: number;
}

/** The values of each plugin by key. The limits also hold while several hosts write. */
export class PluginValueRepository extends Repository {
  readonly #limits: PluginValueLimits;

  constructor(connection: Connection, limits: PluginValueLimits = LIMITS) {
    super(connection);
    this.#limits = limits;
  }

  async get(plugin: string, key: string): Promise<Uint8Array | undefined> {
    const [row] = await this.connection.query<{ value: Uint8Array }>(sql.get, [plugin, keyBytes(key)]);
    return row && new Uint8Array(row.value); // memory of its own, because it is moved to another thread
  }

  /** Stores a value. Throws `InvalidKey`, `ValueTooLarge` or `StorageFull`; the old value then stays. */
  async set(plugin: string, key: string, value: Uint8Array): Promise<void> {
    const { maxValueBytes } = this.#limits;
    const bytes = keyBytes(key);
    if (value.length > maxValueBytes) {
      throw fail('ValueTooLarge', `the value has ${value.length} bytes, but at most ${maxValueBytes} can be stored`, {
        data: { bytes: value.length, limit: maxValueBytes },
      });
    }
    const before = await this.#usage(plugin);
    const [old] = await this.connection.query<{ bytes: number }>(sql.size, [plugin, bytes]);
    const after: Usage = { keys: before.keys + (old ? 0 : 1), bytes: before.bytes - (old?.bytes ?? 0) + value.length };
    this.#check(after);
    await this.connection.query(sql.set, [plugin, bytes, value]);
    await this.connection.query(sql.setUsage, [plugin, after.keys, after.bytes]);
  }

  /** Removes a value. Returns whether it existed. */
  async delete(plugin: string, key: string): Promise<boolean> {
    const before = await this.#usage(plugin);
    const [removed] = await this.connection.query<{ bytes: number }>(sql.remove, [plugin, keyBytes(key)]);
    if (removed) await this.connection.query(sql.setUsage, [plugin, before.keys - 1, before.bytes - removed.bytes]);
    return removed !== undefined;
  }

  /** Returns the first `limit` keys that begin with `prefix` and come after `after`, in the order of their bytes. */
  async list(
    plugin: string,
    {
      prefix,
      after = '',
      limit,
    }: { readonly prefix: string; readonly after?: string | undefined; readonly limit: number },
  ): Promise<string[]> {
    const begin = Buffer.from(prefix);
    const rows = await this.connection.query<{ key: Uint8Array }>(sql.list, [
      plugin,
      Buffer.from(after),
      begin,
      begin.length,
      limit,
    ]);
    return rows.map(({ key }) => Buffer.from(key).toString());
  }

  async #usage(plugin: string): Promise<Usage> {
    const [usage] = await this.connection.query<{ keys: number; bytes: number }>(sql.lockUsage, [plugin]);
    return usage ?? { keys: 0, bytes: 0 };
  }

  #check({ keys, bytes }: Usage): void {
    const { maxKeys, maxBytes } = this.#limits;
    if (keys > maxKeys)
      throw fail('StorageFull', `the storage holds at most ${maxKeys} keys; remove some`, {
        data: { limit: maxKeys },
      });
    if (bytes > maxBytes)
      throw fail('StorageFull', `the storage holds at most ${maxBytes} bytes; remove some`, {
        data: { limit: maxBytes },
      });
  }
}

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

function keyBytes(key: string): Buffer {
  const bytes = Buffer.from(key);
  if (bytes.length < 1 || bytes.length > MAX_KEY_BYTES)
    throw fail('InvalidKey', `a key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes.length}`);
  return bytes;
}
