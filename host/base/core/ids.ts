import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Returns a random id for a request, an invocation or a stored record: a UUID, version 4. */
export function newId(): string {
  return randomUUID();
}

/**
 * Returns an id as 32 hexadecimal digits: 12 of the time in milliseconds since 1970, and 20 random ones. Ids of later
 * times are greater texts.
 */
export function timeOrderedId(now: number): string {
  return Math.floor(now).toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
}

/** Returns a short random suffix for names of temporary files: 12 hexadecimal digits. */
export function randomSuffix(): string {
  return randomBytes(6).toString('hex');
}

/** Returns a new name for a holder of leases in this process: `<host name>/<process id>/<UUID>`. */
export function newLeaseOwner(): string {
  return `${hostname()}/${process.pid}/${newId()}`;
}

/** Texts of UUIDs, with hyphens or without. */
export const UUID: RegExp = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** Returns the usual spelling of a text that {@link UUID} matches: with lower-case letters and hyphens. */
export function canonicalUuid(text: string): string {
  const hex = text.toLowerCase().replaceAll('-', '');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
