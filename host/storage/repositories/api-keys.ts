import { createHash } from 'node:crypto';
import { AanaError } from '../../core/errors.ts';
import type { Connection, Row } from '../database.ts';
import { notFound } from '../errors.ts';
import { loadStatements } from '../statements.ts';

const sql = loadStatements('api-keys', ['insert', 'find', 'list', 'setSubscription', 'remove']);

/** What is known of a key; the key itself is not kept. */
export interface ApiKeyRecord {
  /** Names the key to people. */
  readonly key_id: string;
  readonly user_id: string;
  readonly subscription_id: string;
  readonly is_subscription_active: boolean;
  readonly is_admin: boolean;
  /** What this user's webhooks are signed with, in place of the common secret. */
  readonly hmac_secret: string | null;
  /** Milliseconds since 1970; null never. */
  readonly expired_at: number | null;
}

export class ApiKeyRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ApiKeyAlreadyExists` when the key or its `key_id` is there. */
  async save(apiKey: string, record: ApiKeyRecord): Promise<void> {
    const { key_id: keyId, user_id: user, subscription_id: subscription, is_subscription_active: isActive, is_admin: isAdmin, hmac_secret: secret, expired_at: expiredAt } = record;
    const rows = await this.#connection.query(sql.insert, [keyId, hashOf(apiKey), user, subscription, isActive, isAdmin, secret, expiredAt, this.#connection.now()]);
    if (rows.length === 0) throw new AanaError('ApiKeyAlreadyExists', 'conflict', `there is an API key ${JSON.stringify(keyId)}, or another one for the same secret, already`);
  }

  /** By the key as a client sends it. */
  async find(apiKey: string): Promise<ApiKeyRecord | undefined> {
    const [row] = await this.#connection.query(sql.find, [hashOf(apiKey)]);
    return row && fromRow(row);
  }

  async list(): Promise<ApiKeyRecord[]> {
    return (await this.#connection.query(sql.list)).map(fromRow);
  }

  /** Gives how many keys it changed. */
  async setSubscription(subscriptionId: string, isActive: boolean): Promise<number> {
    return (await this.#connection.query(sql.setSubscription, [subscriptionId, isActive, this.#connection.now()])).length;
  }

  /** Throws `NotFoundException`. */
  async delete(keyId: string): Promise<void> {
    if ((await this.#connection.query(sql.remove, [keyId])).length === 0) throw notFound('api_key', keyId);
  }
}

/** Keys are long and random, so a plain hash cannot be guessed back. */
function hashOf(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex');
}

function fromRow(row: Row): ApiKeyRecord {
  return { ...(row as unknown as ApiKeyRecord), is_subscription_active: Boolean(row['is_subscription_active']), is_admin: Boolean(row['is_admin']) };
}
