import { isUtf8 } from 'node:buffer';
import { fail } from '../../../base/core/errors.ts';
import type { Connection } from '../database.ts';
import { loadStatements, Repository } from '../statements.ts';
import type { TracedStorage } from '../storage.ts';

const sql = loadStatements('plugin-values', [
  ...(['get', 'read', 'lockUsage', 'size', 'set', 'setUsage', 'remove'] as const),
  ...(['pluginWithExpired', 'removeExpired', 'list', 'listValues'] as const),
]);

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
const MAX_EXPIRY_MS = 100 * 365 * 24 * 3_600_000;
/** Bytes of a number in JSON; JavaScript writes at most 25. */
const MAX_NUMBER_BYTES = 100;
/** Bytes of the values in one list of entries. */
const MAX_LISTED_BYTES = MIB;

interface Usage {
  readonly keys: number;
  readonly bytes: number;
}

/** When a value expires. */
interface Expiry {
  /** Milliseconds from now. Undefined: never. */
  readonly expiresInMs?: number | undefined;
}

/** A change of a value that has the bytes `expected`, or is missing (undefined). */
interface ValueChange extends Expiry {
  readonly expected: Uint8Array | undefined;
  /** Undefined removes the value. */
  readonly value: Uint8Array | undefined;
}

interface ListedKeys {
  readonly prefix: string;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A key with facts about its value. */
interface StoredEntry {
  readonly key: string;
  /** Bytes of the value. */
  readonly size: number;
  /** Undefined if the value does not expire. */
  readonly expiresInMs: number | undefined;
  /** The value, if it was asked for and is UTF-8. */
  readonly text: string | undefined;
}

interface EntryRow {
  readonly key: Uint8Array;
  readonly bytes: number;
  readonly expires_at: number | null;
  readonly value?: Uint8Array;
}

/**
 * The values of each plugin by key. The limits also hold while several hosts write. Each write first locks the row of
 * the plugin's usage, so that what it reads afterwards stays until the transaction ends.
 */
export class PluginValueRepository extends Repository {
  readonly #limits: PluginValueLimits;

  constructor(connection: Connection, limits: PluginValueLimits = LIMITS) {
    super(connection);
    this.#limits = limits;
  }

  async get(plugin: string, key: string): Promise<Uint8Array | undefined> {
    const values = [plugin, keyBytes(key), this.connection.now()];
    const [row] = await this.connection.query<{ value: Uint8Array }>(sql.get, values);
    return row && new Uint8Array(row.value);
  }

  /** Returns a value that is UTF-8. Throws `StoredValueMismatch` for another one. */
  async getText(plugin: string, key: string): Promise<string | undefined> {
    const value = await this.get(plugin, key);
    const text = value && textOf(value);
    if (value && text === undefined) throw mismatch(key, 'no text in UTF-8');
    return text;
  }

  /** Stores a value. Throws `InvalidKey`, `ValueTooLarge` or `StorageFull`; the old value then stays. */
  async set(plugin: string, key: string, value: Uint8Array, { expiresInMs }: Expiry = {}): Promise<void> {
    await this.#store(plugin, keyBytes(key), value, this.#expiresAt(expiresInMs));
  }

  /** Removes a value. Returns whether it existed. */
  async delete(plugin: string, key: string): Promise<boolean> {
    const before = await this.#usage(plugin);
    return this.#remove(plugin, keyBytes(key), before);
  }

  /**
   * Adds `by` to a number and returns the sum. A missing key counts as 0 and gets the expiry; another one keeps its
   * own. Throws as `set` does, and `StoredValueMismatch` and `InvalidArguments`; the old value then stays.
   */
  async increment(plugin: string, key: string, by: number, { expiresInMs }: Expiry = {}): Promise<number> {
    if (!Number.isFinite(by)) throw fail('InvalidArguments', `${by} cannot be added to a stored number`);
    const bytes = keyBytes(key);
    const expiresAt = this.#expiresAt(expiresInMs);
    await this.#usage(plugin);
    const old = await this.#read(plugin, bytes);
    const sum = (old ? numberIn(key, old.value) : 0) + by;
    if (!(Math.abs(sum) <= Number.MAX_SAFE_INTEGER))
      throw fail(
        'InvalidArguments',
        `the sum ${sum} is beyond ±${Number.MAX_SAFE_INTEGER}, where numbers are not exact`,
      );
    await this.#store(plugin, bytes, Buffer.from(JSON.stringify(sum)), old ? old.expires_at : expiresAt);
    return sum;
  }

  /**
   * Stores a value, or removes it (undefined), if the present one has the bytes `expected` (undefined: is missing).
   * Returns whether it had. Throws as `set` does.
   */
  async compareAndSet(plugin: string, key: string, { expected, value, expiresInMs }: ValueChange): Promise<boolean> {
    const bytes = keyBytes(key);
    const expiresAt = this.#expiresAt(expiresInMs);
    const before = await this.#usage(plugin);
    const old = await this.#read(plugin, bytes);
    if (old === undefined || expected === undefined ? old !== expected : Buffer.compare(old.value, expected) !== 0)
      return false;
    if (value) await this.#store(plugin, bytes, value, expiresAt);
    else if (old) await this.#remove(plugin, bytes, before);
    return true;
  }

  /** Returns the first `limit` keys that begin with `prefix` and come after `after`, in the order of their bytes. */
  async list(plugin: string, keys: ListedKeys): Promise<string[]> {
    const rows = await this.connection.query<EntryRow>(sql.list, [...this.#listed(plugin, keys), keys.limit]);
    return rows.map(({ key }) => Buffer.from(key).toString());
  }

  /**
   * Returns these keys with facts about their values. With texts, the list ends before the values have more than 1 MiB,
   * but not before the first one.
   */
  async entries(
    plugin: string,
    { withText, ...keys }: ListedKeys & { readonly withText: boolean },
  ): Promise<StoredEntry[]> {
    const now = this.connection.now();
    const listed = this.#listed(plugin, keys);
    let rows = await this.connection.query<EntryRow>(sql.list, [...listed, keys.limit]);
    if (withText) {
      let bytes = 0;
      const room = rows.filter((row, at) => (bytes += row.bytes) <= MAX_LISTED_BYTES || at === 0);
      const last = room.at(-1);
      rows = last ? await this.connection.query<EntryRow>(sql.listValues, [...listed, last.key]) : [];
      // All of them were deleted meanwhile, and an empty list would be the end.
      if (last && rows.length === 0)
        return this.entries(plugin, { withText, ...keys, after: Buffer.from(last.key).toString() });
    }
    return rows.map(({ key, bytes: size, expires_at: at, value }) => ({
      key: Buffer.from(key).toString(),
      size,
      expiresInMs: at === null ? undefined : Math.max(1, at - now),
      text: value && textOf(value),
    }));
  }

  /**
   * Removes at most `limit` values that expired before the time `before`, all of one plugin, because its writers wait
   * until the transaction ends. Returns their number.
   */
  async removeExpired(before: number, limit: number): Promise<number> {
    const [found] = await this.connection.query<{ plugin: string }>(sql.pluginWithExpired, [before]);
    return found ? this.#removeExpiredOf(found.plugin, before, limit) : 0;
  }

  /** Locks and returns the usage of a plugin. */
  async #usage(plugin: string): Promise<Usage> {
    const [usage] = await this.connection.query<{ keys: number; bytes: number }>(sql.lockUsage, [plugin]);
    return usage ?? { keys: 0, bytes: 0 };
  }

  async #read(plugin: string, key: Buffer): Promise<{ value: Uint8Array; expires_at: number | null } | undefined> {
    const [row] = await this.connection.query<{ value: Uint8Array; expires_at: number | null }>(sql.read, [
      ...[plugin, key, this.connection.now()],
    ]);
    return row;
  }

  async #store(plugin: string, key: Buffer, value: Uint8Array, expiresAt: number | null): Promise<void> {
    const { maxValueBytes } = this.#limits;
    if (value.length > maxValueBytes) {
      throw fail('ValueTooLarge', `the value has ${value.length} bytes, but at most ${maxValueBytes} can be stored`, {
        data: { bytes: value.length, limit: maxValueBytes },
      });
    }
    let after = await this.#usageWith(plugin, key, value);
    if (this.#isOver(after) && (await this.#removeExpiredOf(plugin, this.connection.now(), after.keys)) > 0)
      after = await this.#usageWith(plugin, key, value);
    this.#check(after);
    await this.connection.query(sql.set, [plugin, key, value, expiresAt]);
    await this.connection.query(sql.setUsage, [plugin, after.keys, after.bytes]);
  }

  /** Returns the usage of a plugin as it is when a value is stored. */
  async #usageWith(plugin: string, key: Buffer, value: Uint8Array): Promise<Usage> {
    const { keys, bytes } = await this.#usage(plugin);
    const [old] = await this.connection.query<{ bytes: number }>(sql.size, [plugin, key]);
    return { keys: keys + (old ? 0 : 1), bytes: bytes - (old?.bytes ?? 0) + value.length };
  }

  async #remove(plugin: string, key: Buffer, before: Usage): Promise<boolean> {
    const [removed] = await this.connection.query<{ bytes: number; expires_at: number | null }>(sql.remove, [
      ...[plugin, key],
    ]);
    if (!removed) return false;
    await this.connection.query(sql.setUsage, [plugin, before.keys - 1, before.bytes - removed.bytes]);
    return removed.expires_at === null || removed.expires_at > this.connection.now();
  }

  async #removeExpiredOf(plugin: string, before: number, limit: number): Promise<number> {
    const { keys, bytes } = await this.#usage(plugin);
    const removed = await this.connection.query<{ bytes: number }>(sql.removeExpired, [plugin, before, limit]);
    const freed = removed.reduce((sum, one) => sum + one.bytes, 0);
    await this.connection.query(sql.setUsage, [plugin, keys - removed.length, bytes - freed]);
    return removed.length;
  }

  #listed(plugin: string, { prefix, after = '' }: ListedKeys): [string, Buffer, Buffer, number, number] {
    const begin = Buffer.from(prefix);
    return [plugin, Buffer.from(after), begin, begin.length, this.connection.now()];
  }

  /** Returns the time at which a value expires, by the clock of the database. */
  #expiresAt(expiresInMs: number | undefined): number | null {
    if (expiresInMs === undefined) return null;
    if (!(expiresInMs >= 1 && expiresInMs <= MAX_EXPIRY_MS))
      throw fail('InvalidArguments', `a value expires after 1 to ${MAX_EXPIRY_MS} milliseconds, not ${expiresInMs}`);
    return Math.ceil(this.connection.now() + expiresInMs);
  }

  #isOver({ keys, bytes }: Usage): boolean {
    return keys > this.#limits.maxKeys || bytes > this.#limits.maxBytes;
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

/** The storage of plugins for one caller. Each call is a separate transaction. */
export class PluginStorage {
  readonly #storage: Pick<TracedStorage, 'read' | 'write'>;
  readonly #ownerOf: (plugin: string) => string | null;

  /** `ownerOf` returns the owner of a plugin's values; null is no user. Default: no user. */
  constructor(storage: Pick<TracedStorage, 'read' | 'write'>, ownerOf: (plugin: string) => string | null = () => null) {
    this.#storage = storage;
    this.#ownerOf = ownerOf;
  }

  get(plugin: string, key: string): Promise<Uint8Array | undefined> {
    return this.#storage.read(({ pluginValues }) => pluginValues.get(this.#namespace(plugin), key));
  }

  getText(plugin: string, key: string): Promise<string | undefined> {
    return this.#storage.read(({ pluginValues }) => pluginValues.getText(this.#namespace(plugin), key));
  }

  set(plugin: string, key: string, value: Uint8Array, expiry?: Expiry): Promise<void> {
    return this.#storage.write(({ pluginValues }) => pluginValues.set(this.#namespace(plugin), key, value, expiry));
  }

  delete(plugin: string, key: string): Promise<boolean> {
    return this.#storage.write(({ pluginValues }) => pluginValues.delete(this.#namespace(plugin), key));
  }

  increment(plugin: string, key: string, by: number, expiry?: Expiry): Promise<number> {
    return this.#storage.write(({ pluginValues }) => pluginValues.increment(this.#namespace(plugin), key, by, expiry));
  }

  compareAndSet(plugin: string, key: string, change: ValueChange): Promise<boolean> {
    return this.#storage.write(({ pluginValues }) => pluginValues.compareAndSet(this.#namespace(plugin), key, change));
  }

  list(plugin: string, keys: ListedKeys): Promise<string[]> {
    return this.#storage.read(({ pluginValues }) => pluginValues.list(this.#namespace(plugin), keys));
  }

  entries(plugin: string, keys: ListedKeys & { readonly withText: boolean }): Promise<StoredEntry[]> {
    return this.#storage.read(({ pluginValues }) => pluginValues.entries(this.#namespace(plugin), keys));
  }

  /** Returns the namespace of a plugin and its owner. Names of plugins have no slash, so namespaces are different. */
  #namespace(plugin: string): string {
    const owner = this.#ownerOf(plugin);
    return owner === null ? plugin : `${plugin}/${owner}`;
  }
}

function keyBytes(key: string): Buffer {
  const bytes = Buffer.from(key);
  if (bytes.length < 1 || bytes.length > MAX_KEY_BYTES)
    throw fail('InvalidKey', `a key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes.length}`);
  return bytes;
}

/** Returns the text of bytes, or undefined if they are not UTF-8. */
function textOf(value: Uint8Array): string | undefined {
  return isUtf8(value) ? Buffer.from(value).toString() : undefined;
}

function numberIn(key: string, value: Uint8Array): number {
  const text = value.length <= MAX_NUMBER_BYTES ? Buffer.from(value).toString() : '';
  try {
    const number: unknown = JSON.parse(text);
    if (typeof number === 'number') return number;
  } catch {
    // not JSON
  }
  throw mismatch(key, 'no number in JSON');
}

function mismatch(key: string, what: string): Error {
  return fail('StoredValueMismatch', `the stored value of the key ${JSON.stringify(key)} is ${what}`);
}
