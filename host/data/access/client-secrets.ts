import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { remembered } from '../../base/core/remembered.ts';
import type { Storage } from '../storage/index.ts';
import { keyRefused } from './errors.ts';

/** The beginning of all client secrets, as in OpenAI's API. */
export const CLIENT_SECRET_PREFIX = 'ek_';

/** What a client secret stands for. */
export interface ClientSecret {
  /** The API key that made it, with its user; null if API keys were off. */
  readonly key: { readonly id: string; readonly userId: string } | null;
  /** The settings of the sessions that it opens. */
  readonly session: unknown;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

const KEY_NAME = 'client-secrets';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** Time after a failure to read the key before the next attempt. */
const RETRY_AFTER_MS = 1000;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Clients send a secret in a header. All headers of a request may have 16 KiB. */
const LONGEST = 8192;

/** Makes and reads client secrets. A secret is sealed with a key that all hosts share, so nothing is stored for it. */
export class ClientSecrets {
  readonly #key: () => Promise<Buffer>;

  /** The key is in the database. It is made when it is first needed. */
  constructor(storage: Storage) {
    this.#key = remembered(
      () => storage.write(({ hostKeys }) => hostKeys.readOrInsert(KEY_NAME, randomBytes(KEY_BYTES))),
      RETRY_AFTER_MS,
    );
  }

  /** Returns the secret as a text, or undefined if its session is too large for a header. */
  async seal(secret: ClientSecret): Promise<string | undefined> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, await this.#key(), nonce);
    const sealed = Buffer.concat([nonce, cipher.update(JSON.stringify(secret), 'utf8'), cipher.final()]);
    const text = CLIENT_SECRET_PREFIX + Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
    return text.length > LONGEST ? undefined : text;
  }

  /** Returns what a text stands for; undefined if it is no secret of this host. Throws `ApiKeyExpired`. */
  async open(text: string): Promise<ClientSecret | undefined> {
    if (!text.startsWith(CLIENT_SECRET_PREFIX) || text.length > LONGEST) return undefined;
    const bytes = Buffer.from(text.slice(CLIENT_SECRET_PREFIX.length), 'base64url');
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, await this.#key(), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    let secret: ClientSecret;
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      secret = JSON.parse(opened.toString('utf8')) as ClientSecret;
    } catch {
      return undefined; // it was sealed with another key, or changed
    }
    if (secret.expiresAt * 1000 <= Date.now()) throw keyRefused('ApiKeyExpired', 'the client secret has expired');
    return secret;
  }
}
