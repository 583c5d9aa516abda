import { createHash } from 'node:crypto';
import { AanaError } from '../../core/errors.ts';
import type { Connection, Row } from '../database.ts';
import { checkText, notFound } from '../errors.ts';
import { loadStatements } from '../statements.ts';
import { TASKS_WAITING } from './task-log.ts';

const sql = loadStatements('api-keys', [
  'insert',
  'find',
  'get',
  'list',
  'update',
  'setSubscription',
  'touch',
  'remove',
]);

/** What listeners of the database are told when keys or subscriptions have changed. */
export const API_KEYS_CHANGED = 'api-keys';

/** What can be said of a key; the key itself is not kept. */
export interface NewApiKey {
  /** Names the key to people. */
  readonly key_id: string;
  readonly user_id: string;
  readonly subscription_id: string;
  readonly is_subscription_active: boolean;
  readonly is_admin: boolean;
  /** What the key is for; null for everything that its user may do. */
  readonly scopes: readonly string[] | null;
  /** What this user's webhooks are signed with, in place of the common secret. */
  readonly hmac_secret: string | null;
  /** Milliseconds since 1970; null never. */
  readonly expired_at: number | null;
}

export interface ApiKeyRecord extends NewApiKey {
  /** Milliseconds since 1970. */
  readonly created_at: number;
  /** Milliseconds since 1970, to some minutes; null when the key was never used. */
  readonly last_used_at: number | null;
}

export type ApiKeyChanges = Partial<Pick<NewApiKey, 'is_admin' | 'scopes' | 'hmac_secret' | 'expired_at'>>;

/** Every method belongs into a transaction, which tells others of it when it is committed. */
export class ApiKeyRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ApiKeyAlreadyExists` when the key or its `key_id` is there. */
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
    const now = this.#connection.now();
    const rows = await this.#connection.query(sql.insert, [
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
      throw new AanaError(
        'ApiKeyAlreadyExists',
        'conflict',
        `there is an API key ${JSON.stringify(keyId)}, or another one for the same secret, already`,
        { data: { key_id: keyId } },
      );
    await this.#connection.notify(API_KEYS_CHANGED);
    return { ...record, created_at: now, last_used_at: null };
  }

  /** By the key as a client sends it. */
  async find(apiKey: string): Promise<ApiKeyRecord | undefined> {
    const [row] = await this.#connection.query(sql.find, [hashApiKey(apiKey)]);
    return row && fromRow(row);
  }

  /** Throws `NotFoundException`. */
  async get(keyId: string): Promise<ApiKeyRecord> {
    const [row] = await this.#connection.query(sql.get, [keyId]);
    if (!row) throw notFound('api_key', keyId);
    return fromRow(row);
  }

  /** The oldest first; of one user, or of everybody (null). */
  async list(
    userId: string | null = null,
    { limit = 1_000_000, offset = 0 }: { readonly limit?: number; readonly offset?: number } = {},
  ): Promise<ApiKeyRecord[]> {
    return (await this.#connection.query(sql.list, [userId, limit, offset])).map(fromRow);
  }

  /** Gives the key as it is then. Throws `NotFoundException`. */
  async update(keyId: string, changes: ApiKeyChanges): Promise<ApiKeyRecord> {
    const {
      is_admin: isAdmin = false,
      scopes = null,
      hmac_secret: secret = null,
      expired_at: expiredAt = null,
    } = changes;
    const names = Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const [row] = await this.#connection.query(sql.update, [
      keyId,
      JSON.stringify(names),
      isAdmin,
      textOf(scopes),
      secret,
      expiredAt,
      this.#connection.now(),
    ]);
    if (!row) throw notFound('api_key', keyId);
    await this.#connection.notify(API_KEYS_CHANGED);
    return fromRow(row);
  }

  /** Gives how many keys it changed. */
  async setSubscription(subscriptionId: string, isActive: boolean): Promise<number> {
    const changed = (
      await this.#connection.query(sql.setSubscription, [subscriptionId, isActive, this.#connection.now()])
    ).length;
    await this.#connection.notify(API_KEYS_CHANGED);
    if (isActive) await this.#connection.notify(TASKS_WAITING); // they may have waited for this
    return changed;
  }

  /** Keeps that a key was used now. */
  async touch(keyId: string): Promise<void> {
    await this.#connection.query(sql.touch, [keyId, this.#connection.now()]);
  }

  /** Throws `NotFoundException`. */
  async delete(keyId: string): Promise<void> {
    if ((await this.#connection.query(sql.remove, [keyId])).length === 0) throw notFound('api_key', keyId);
    await this.#connection.notify(API_KEYS_CHANGED);
  }
}

/** Keys are long and random, so a plain hash cannot be guessed back. */
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
