import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { remembered } from '../../base/core/remembered.ts';
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

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** Time after a failure to read the file before the next attempt. */
const RETRY_AFTER_MS = 1000;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Clients send a secret in a header. All headers of a request may have 16 KiB. */
const LONGEST = 8192;

/**
 * Makes and reads client secrets. A secret is sealed with a key in a file that hosts of the same database share, so
 * nothing is stored for it.
 */
export class ClientSecrets {
  readonly #key: () => Promise<Buffer>;

  /** `dir` is the folder of the file, which is made when it is first needed. */
  constructor(dir: string) {
    this.#key = remembered(() => sharedKey(dir), RETRY_AFTER_MS);
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

/** Returns the key in the folder. Of hosts that make it at the same time, the first one wins. */
async function sharedKey(dir: string): Promise<Buffer> {
  const path = join(dir, 'client-secrets.key');
  const known = await readKey(path);
  if (known) return known;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomUUID()}`;
  try {
    await writeFile(fresh, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' });
    await link(fresh, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(fresh, { force: true });
  }
  const made = await readKey(path);
  if (!made) throw new Error(`${path} is gone`);
  return made;
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const key = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (key !== undefined && key.length !== KEY_BYTES)
    throw new Error(
      `${path} has ${key.length} bytes instead of ${KEY_BYTES}: remove it, and the host makes another one`,
    );
  return key;
}
