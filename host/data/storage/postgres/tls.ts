import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { databaseError } from '../errors.ts';

/** The encryption of connections, named like the options of libpq. */
export interface TlsConfig {
  readonly ssl_mode: 'disable' | 'require' | 'verify-ca' | 'verify-full';
  /** PEM files. */
  readonly ssl_root_cert: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: string | null;
}

/**
 * Returns the options of TLS; undefined when connections are not encrypted. Throws `DatabaseException` when a file
 * cannot be read.
 */
export async function tlsOptions({
  ssl_mode: mode,
  ssl_root_cert: ca,
  ssl_cert: cert,
  ssl_key: key,
}: TlsConfig): Promise<ConnectionOptions | undefined> {
  if (mode === 'disable') return undefined;
  return {
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }), // any name
    ...(ca !== null && { ca: await readPem('ssl_root_cert', ca) }),
    ...(cert !== null && { cert: await readPem('ssl_cert', cert) }),
    ...(key !== null && { key: await readPem('ssl_key', key) }),
  };
}

async function readPem(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw databaseError(
      'DatabaseFault',
      `db_config.datastore_config.${setting}: ${path} cannot be read: ${(error as Error).message}`,
      error,
    );
  }
}
