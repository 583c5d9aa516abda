import * as z from 'zod';
import { fail } from '../../base/core/errors.ts';
import { newId } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../base/core/request-context.ts';
import { checkedValue, validationEntries } from '../../base/schemas/index.ts';
import { API_KEYS_CHANGED, type ApiKeyRecord, Pruner, type Storage, type TracedStorage } from '../storage/index.ts';
import { keyRefused } from './errors.ts';
import type { KeyLookUps } from './key-look-ups.ts';
import { isMistyped, newApiKey } from './key-text.ts';
import { KeyCache } from './key-cache.ts';
import { isScope } from './scopes.ts';

const name = (what: string) =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(/^[^\p{C}]+$/u, `${what} has no control characters`);
const scopes = z
  .array(
    z
      .string()
      .max(512)
      .refine(
        isScope,
        'Input should be endpoints, tasks, webhooks, admin, a path such as /video/transcribe, /items/{id}, ' +
          '/video/*, or model: and a deployment',
      ),
  )
  .min(1)
  .max(100)
  .nullable()
  .describe(
    '`endpoints`, `tasks`, `webhooks`, `admin`, `/a/path`, `/a/{id}`, `/a/*`, or `model:` and a deployment; null for ' +
      'everything that the user may do.',
  );
const expiry = z.iso
  .datetime({ offset: true, error: 'Input should be a time such as 2027-01-31T00:00:00Z' })
  .max(64)
  .nullable();
const secret = z.string().min(16).max(255).nullable().describe('Signs the messages to webhooks of the user.');

/** The input for a new key. All fields except the user have defaults. */
export const NewKey = z.strictObject({
  user_id: name('a user_id'),
  key_id: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\w.@:-]+$/, 'a key_id has letters, digits and any of _ . @ : -')
    .optional(),
  subscription_id: name('a subscription_id').optional().describe('Default: the user.'),
  is_subscription_active: z.boolean().default(true),
  is_admin: z.boolean().default(false),
  scopes: scopes.default(null),
  hmac_secret: secret.default(null),
  expired_at: expiry.default(null),
});
export const KeyChanges = z
  .strictObject({ is_admin: z.boolean(), scopes, hmac_secret: secret, expired_at: expiry })
  .partial();

export type NewKeyInput = z.input<typeof NewKey>;
export type KeyChangesInput = z.input<typeof KeyChanges>;

/** The public fields of a key, with times in ISO 8601. */
export interface ApiKeyInfo extends Omit<ApiKeyRecord, 'hmac_secret' | 'expired_at' | 'created_at' | 'last_used_at'> {
  readonly expired_at: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

export function apiKeyInfo({ hmac_secret: _secret, ...record }: ApiKeyRecord): ApiKeyInfo {
  const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  return {
    ...record,
    expired_at: time(record.expired_at),
    created_at: new Date(record.created_at).toISOString(),
    last_used_at: time(record.last_used_at),
  };
}

/** No key is longer. */
const MAX_KEY_LENGTH = 512;

/** Makes, finds, changes and revokes API keys. */
export class KeyWork {
  readonly #storage: TracedStorage;
  readonly #known: KeyCache;

  constructor(storage: TracedStorage, known: KeyCache) {
    this.#storage = storage;
    this.#known = known;
  }

  /**
   * Returns the record of a key that a client at this address has sent. Throws `ApiKeyNotFound`, `ApiKeyExpired`,
   * `ApiKeyValidationFailed` when the database cannot be reached, and `TooManyRequestsException` when the address has
   * sent too many unknown keys.
   */
  async authenticate(apiKey: string, address?: string): Promise<ApiKeyRecord> {
    if (isMistyped(apiKey)) throw keyRefused('ApiKeyNotFound', 'the API key is mistyped or not complete');
    if (apiKey.length > MAX_KEY_LENGTH) throw keyRefused('ApiKeyNotFound', 'the API key is unknown');
    // The key is found by its hash and not compared. The time of the look-up says something about hashes only, and
    // nobody can choose the beginning of a hash.
    const found = await this.#known.find(apiKey, address, this.#storage);
    if (!found) throw keyRefused('ApiKeyNotFound', 'the API key is unknown');
    if (found.expiresAt <= performance.now()) throw keyRefused('ApiKeyExpired', 'the API key has expired');
    return found.record;
  }

  /**
   * Makes a key, or takes `apiKey`, which was made elsewhere. The key itself is not stored, so the result is the only
   * place where it is visible. Throws `ValidationError`, `ApiKeyAlreadyExists`.
   */
  async create(
    input: NewKeyInput,
    apiKey: string = newApiKey(),
  ): Promise<{ readonly apiKey: string; readonly record: ApiKeyRecord }> {
    const {
      key_id: keyId = `key-${newId().slice(0, 8)}`,
      subscription_id: subscription,
      expired_at: expiresAt,
      ...rest
    } = parse(NewKey, input);
    if (apiKey.length < 16 || apiKey.length > MAX_KEY_LENGTH || /[^\x21-\x7e]/.test(apiKey))
      throw fail('ValidationError', 'an API key has 16 to 512 visible ASCII characters');
    if (isMistyped(apiKey)) throw fail('ValidationError', 'the API key is mistyped or not complete');
    const record = await this.#storage.write(async ({ apiKeys, connection }) => {
      const expired_at = checkedExpiry(expiresAt, connection.now());
      return apiKeys.save(apiKey, {
        ...rest,
        key_id: keyId,
        subscription_id: subscription ?? rest.user_id,
        expired_at,
      });
    });
    return { apiKey, record };
  }

  /**
   * Returns the record of the key that made a client secret. Throws `ApiKeyNotFound` if it was revoked, and
   * `ApiKeyExpired`.
   */
  async ofClientSecret({ id, userId }: { readonly id: string; readonly userId: string }): Promise<ApiKeyRecord> {
    const { record, now } = await this.#storage.read(async ({ apiKeys, connection }) => ({
      record: (await apiKeys.list(userId)).find((one) => one.key_id === id),
      now: connection.now(),
    }));
    if (!record) throw keyRefused('ApiKeyNotFound', 'the API key of the client secret was revoked');
    if (record.expired_at !== null && record.expired_at <= now)
      throw keyRefused('ApiKeyExpired', 'the API key of the client secret has expired');
    return record;
  }

  /** Throws `NotFoundException`. */
  get(keyId: string): Promise<ApiKeyRecord> {
    return this.#storage.read(({ apiKeys }) => apiKeys.get(keyId));
  }

  /** Returns whether a text is a key. */
  async isKey(text: string): Promise<boolean> {
    return (await this.#storage.read(({ apiKeys }) => apiKeys.find(text))) !== undefined;
  }

  /** Returns the keys of one user, or of all users (null), the oldest first. */
  list(
    userId: string | null = null,
    page: { readonly limit?: number; readonly offset?: number } = {},
  ): Promise<ApiKeyRecord[]> {
    return this.#storage.read(({ apiKeys }) => apiKeys.list(userId, page));
  }

  /** Throws `ValidationError`, `NotFoundException`. */
  async update(keyId: string, input: KeyChangesInput): Promise<ApiKeyRecord> {
    const { expired_at: expiresAt, ...given } = parse(KeyChanges, input);
    const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const record = await this.#storage.write(async ({ apiKeys, connection }) =>
      apiKeys.update(keyId, {
        ...changes,
        ...(expiresAt !== undefined && { expired_at: checkedExpiry(expiresAt, connection.now()) }),
      }),
    );
    this.#known.forget();
    return record;
  }

  /**
   * Changes the subscription of keys, and returns their number. Tasks that waited for the subscription can then run.
   */
  async setSubscription(subscriptionId: string, isActive: boolean): Promise<number> {
    const changed = await this.#storage.write(({ apiKeys }) => apiKeys.setSubscription(subscriptionId, isActive));
    this.#known.forget();
    return changed;
  }

  /**
   * Revokes a key: this host refuses it from now on, and other hosts when they are notified. Throws
   * `NotFoundException`.
   */
  async revoke(keyId: string): Promise<void> {
    await this.#storage.write(({ apiKeys }) => apiKeys.delete(keyId));
    this.#known.forget();
  }
}

/** The API keys. */
export class ApiKeys extends KeyWork implements ForCallers<KeyWork> {
  readonly #storage: Storage;
  readonly #known: KeyCache;
  readonly #pruner: Pruner;
  #opened: Promise<() => void> | undefined;
  #isOpen = false;

  /**
   * `lookUps` limits the look-ups of unknown keys. Default: no limit. Keys that expired `retentionMs` ago are removed;
   * 0 keeps them.
   */
  constructor({
    storage,
    log,
    freshMs,
    lookUps,
    retentionMs = 0,
  }: {
    readonly storage: Storage;
    readonly log: Logger;
    readonly freshMs?: number;
    readonly lookUps?: KeyLookUps;
    readonly retentionMs?: number;
  }) {
    const known = new KeyCache({ log, freshMs, lookUps });
    super(storage, known);
    this.#storage = storage;
    this.#known = known;
    this.#pruner = new Pruner({
      ...{ storage, log, what: 'expired API keys', retentionMs },
      prune: ({ apiKeys }, before, limit) => apiKeys.prune(before, limit),
    });
  }

  /** Returns the keys of all users. Work with them has its place in the caller's trace. */
  as({ traceparent }: Caller): KeyWork {
    return new KeyWork(this.#storage.inTrace(traceparent), this.#known);
  }

  /** Whether keys can be looked up. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Subscribes to changes of keys by other hosts, and begins to remove expired keys. */
  async open(): Promise<void> {
    this.#opened ??= this.#storage.listen((message) => {
      if (message === API_KEYS_CHANGED || message === '') this.#known.forget();
    });
    this.#opened.catch(() => (this.#opened = undefined)); // the next call tries again
    await this.#opened;
    this.#isOpen = true;
    this.#pruner.start();
  }

  async close(): Promise<void> {
    await this.#pruner.stop();
    await this.#opened?.then(
      (unlisten) => unlisten(),
      () => {}, // it never opened
    );
  }
}

function parse<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const { value, issues } = checkedValue(schema, input);
  if (!issues) return value;
  throw fail('ValidationError', 'Validation error', {
    data: validationEntries(issues, input),
  });
}

/** Returns the time in milliseconds since 1970. Throws `ValidationError` for a time in the past. */
function checkedExpiry(text: string | null, now: number): number | null {
  if (text === null) return null;
  const expiredAt = Date.parse(text);
  if (expiredAt <= now)
    throw fail('ValidationError', `the key would already have expired at ${new Date(expiredAt).toISOString()}`);
  return expiredAt;
}
