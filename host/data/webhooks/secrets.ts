import { randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Returns a new secret in the form of Standard Webhooks: the key in base64 after `whsec_`. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Returns the key of Standard Webhooks: the bytes of the base64 after `whsec_`, or of the text itself. */
export function signingKey(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
}

/**
 * Returns whether a secret is valid. After the prefix of Standard Webhooks it must have the base64 of at least 16
 * bytes.
 */
export function isSecret(secret: string): boolean {
  return (
    !secret.startsWith(PREFIX) ||
    (/^[A-Za-z0-9+/]+={0,2}$/.test(secret.slice(PREFIX.length)) && signingKey(secret).length >= 16)
  );
}
