import { randomBytes, randomUUID } from 'node:crypto';

/** A random id for a request, an invocation or a stored thing: a UUID, version 4. */
export function newId(): string {
  return randomUUID();
}

/** A short random suffix for names of temporary files: 12 hexadecimal digits. */
export function randomSuffix(): string {
  return randomBytes(6).toString('hex');
}
