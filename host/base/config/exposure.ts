import { isLoopback } from '../core/net/loopback.ts';
import type { Config } from './schema.ts';

/** What strangers can do with a server, and which settings change that. */
export interface Exposure {
  readonly found: string;
  readonly advice: string;
}

type Settings = Pick<Config, 'trusted_proxies'> & {
  readonly api_service: Pick<Config['api_service'], 'enabled'>;
  readonly tls: Pick<Config['tls'], 'cert' | 'client_ca'>;
};

/**
 * Returns how a server at `host` (an address, or `unix:/path`) is open to other machines. Returns undefined if only
 * this machine reaches it, or if it asks for keys (or certificates of clients) and is encrypted. A trusted proxy
 * encrypts.
 */
export function exposureOf(
  { api_service: keys, tls, trusted_proxies: proxies }: Settings,
  host: string,
): Exposure | undefined {
  if (isLoopback(host) || host.startsWith('unix:')) return undefined;
  const missing = [
    ...(keys.enabled || tls.client_ca !== null ? [] : [{ what: 'API keys', setting: 'api_service.enabled' }]),
    ...(tls.cert !== null || proxies.length > 0 ? [] : [{ what: 'encryption', setting: 'tls.cert and tls.key' }]),
  ];
  if (missing.length === 0) return undefined;
  return {
    found:
      `other machines reach the server on ${host} without ` +
      `${missing.map(({ what }) => what).join(' and without ')}`,
    advice: `set host to 127.0.0.1, or set ${missing.map(({ setting }) => setting).join(', and ')}`,
  };
}
