import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** A random id for a request, an invocation or a stored thing: a UUID, version 4. */
export function newId(): string {
  return randomUUID();
}

/** A short random suffix for names of temporary files: 12 hexadecimal digits. */
export function randomSuffix(): string {
  return randomBytes(6).toString('hex');
}

/** Returns a new name for a holder of leases in this process: `<host name>/<process id>/<UUID>`. */
export function newLeaseOwner(): string {
  return `${hostname()}/${process.pid}/${newId()}`;
}
