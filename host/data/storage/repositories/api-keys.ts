import { createHash } from 'node:crypto';
import { fail } from '../../../base/core/errors.ts';
import type { Row } from '../database.ts';
import { checkText, notFound } from '../errors.ts';
import { filtered, loadStatements, Repository } from '../statements.ts';
import { TASKS_WAITING } from './tasks/task-log.ts';

const sql = loadStatements('api-keys', [
  'insert',
  'find',
  'get',
  'list',
  'update',
  'setSubscription',
  'touch',
  'remove',
  'prune',
]);

/** The notification that keys or subscriptions have changed. */
export const API_KEYS_CHANGED = 'api-keys';

/** The stored facts of a key. The key itself is not stored. */
export interface NewApiKey {
  /** The name of the key for people. */
  readonly key_id: string;
  readonly user_id: string;
  readonly subscription_id: string;
  readonly is_subscription_active: boolean;
  readonly is_admin: boolean;
  /** The scopes of the key; null is everything that its user may do. */
  readonly scopes: readonly string[] | null;
  /** The secret that signs messages to webhooks of this user, in place of the common secret. */
  readonly hmac_secret: string | null;
  /** Milliseconds since 1970; null is never. */
  readonly expired_at: number | null;
}

export interface ApiKeyRecord extends NewApiKey {
  /** Milliseconds since 1970. */
  readonly created_at: number;
  /** Milliseconds since 1970, exact to some minutes; null when the key was never used. */
  readonly last_used_at: number | null;
}

export type ApiKeyChanges = Partial<Pick<NewApiKey, 'is_admin' | 'scopes' | 'hmac_secret' | 'expired_at'>>;

/** The stored API keys. Each method must run in a transaction, which notifies other hosts when it is committed. */
export class ApiKeyRepository extends Repository {
  /** Stores a key. Throws `ApiKeyAlreadyExists` when the key or its `key_id` exists. */
  async save(apiKey: string, record: NewApiKey): Promise<ApiKeyRecord> {
    for (const name of ['key_id', 'user_id', 'subscription_id'] as const)
      checkText(`the ${name} of an API key`, record[name]);
    const {
      key_id: keyId,
      user_id: user,
      subscription_id: subscription,
      is_subscription_active: isActive,
      is_admin: isAdmin,
      hmac_secret: secret,
      expired_at: expiredAt,
    } = record;
    const now = this.connection.now();
    const rows = await this.connection.query(sql.insert, [
      keyId,
      hashApiKey(apiKey),
      user,
      subscription,
      isActive,
      isAdmin,
      textOf(record.scopes),
      secret,
      expiredAt,
      now,
    ]);
    if (rows.length === 0)
      throw fail(
        'ApiKeyAlreadyExists',
        `there is already an API key ${JSON.stringify(keyId)}, or another one with the same secret`,
        { data: { key_id: keyId } },
      );
    await this.connection.notify(API_KEYS_CHANGED);
    return { ...record, created_at: now, last_used_at: null };
  }

  /** Finds a key by the text that a client sends. */
  async find(apiKey: string): Promise<ApiKeyRecord | undefined> {
    const [row] = await this.connection.query(sql.find, [hashApiKey(apiKey)]);
    return row && fromRow(row);
  }

  /** Throws `NotFoundException`. */
  async get(keyId: string): Promise<ApiKeyRecord> {
    const [row] = await this.connection.query(sql.get, [keyId]);
    if (!row) throw notFound('api_key', keyId);
    return fromRow(row);
  }

  /** Returns the keys of one user, or of all users (null), the oldest first. */
  async list(
    userId: string | null = null,
    { limit = 1_000_000, offset = 0 }: { readonly limit?: number; readonly offset?: number } = {},
  ): Promise<ApiKeyRecord[]> {
    return (await this.connection.query(...filtered(sql.list, [limit, offset], [['user_id = ?', userId]]))).map(
      fromRow,
    );
  }

  /** Changes a key and returns it. Throws `NotFoundException`. */
  async update(keyId: string, changes: ApiKeyChanges): Promise<ApiKeyRecord> {
    const {
      is_admin: isAdmin = false,
      scopes = null,
      hmac_secret: secret = null,
      expired_at: expiredAt = null,
    } = changes;
    const names = Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const [row] = await this.connection.query(sql.update, [
      keyId,
      JSON.stringify(names),
      isAdmin,
      textOf(scopes),
      secret,
      expiredAt,
      this.connection.now(),
    ]);
    if (!row) throw notFound('api_key', keyId);
    await this.connection.notify(API_KEYS_CHANGED);
    return fromRow(row);
  }

  /** Changes the subscription of keys. Returns the number of changed keys. */
  async setSubscription(subscriptionId: string, isActive: boolean): Promise<number> {
    const changed = (
      await this.connection.query(sql.setSubscription, [subscriptionId, isActive, this.connection.now()])
    ).length;
    await this.connection.notify(API_KEYS_CHANGED);
    if (isActive) await this.connection.notify(TASKS_WAITING); // tasks may have waited for the subscription
    return changed;
  }

  /** Stores that a key is used now. */
  async touch(keyId: string): Promise<void> {
    await this.connection.query(sql.touch, [keyId, this.connection.now()]);
  }

  /** Removes at most `limit` keys that expired before `before`. Returns their number. */
  async prune(before: number, limit: number): Promise<number> {
    return (await this.connection.query(sql.prune, [before, limit])).length;
  }

  /** Throws `NotFoundException`. */
  async delete(keyId: string): Promise<void> {
    if ((await this.connection.query(sql.remove, [keyId])).length === 0) throw notFound('api_key', keyId);
    await this.connection.notify(API_KEYS_CHANGED);
  }
}

/** Returns the hash of a key. A plain hash is enough, because keys are long and random. */
export function hashApiKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex');
}

function textOf(scopes: readonly string[] | null): string | null {
  return scopes && JSON.stringify(scopes);
}

function fromRow(row: Row): ApiKeyRecord {
  const scopes = row['scopes'] as string | null;
  return {
    ...(row as unknown as ApiKeyRecord),
    is_subscription_active: Boolean(row['is_subscription_active']),
    is_admin: Boolean(row['is_admin']),
    scopes: scopes === null ? null : (JSON.parse(scopes) as string[]),
  };
}
