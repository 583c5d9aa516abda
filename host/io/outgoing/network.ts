import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import ipaddr from 'ipaddr.js';
import { fail } from '../../base/core/errors.ts';
import { literalAddress } from './addresses.ts';

export interface NetworkSettings {
  /** Proxy for http URLs: `http://user:password@host:port`, the same with https, or `host:port`. */
  readonly httpProxy: string | null;
  /** Proxy for https URLs. */
  readonly httpsProxy: string | null;
  /** Hosts that are reached without a proxy. */
  readonly noProxy: readonly string[];
  /** Whether the proxy resolves names. Their addresses are then not checked. */
  readonly proxyResolves: boolean;
  /** PEM files of authorities that are trusted in addition to those of Node. */
  readonly authorityFiles: readonly string[];
}

/** Proxies and certificate authorities of outgoing connections. */
export interface Network {
  readonly proxyResolves: boolean;
  /**
   * Returns the authorities against which certificates are checked; `undefined` means those that Node trusts. Created
   * at the first call.
   */
  secureContext(): tls.SecureContext | undefined;
  /** Returns the proxy for a URL. */
  proxyFor(url: URL): URL | undefined;
}

/** No proxy, and the authorities of Node. */
export const directNetwork: Network = {
  proxyResolves: false,
  secureContext: () => undefined,
  proxyFor: () => undefined,
};

/** Creates a network. Throws `ConfigError` for a file of authorities that cannot be read or has no certificate. */
export function networkOf({ httpProxy, httpsProxy, noProxy, proxyResolves, authorityFiles }: NetworkSettings): Network {
  const proxies = new Map([
    ['http:', proxyUrl(httpProxy)],
    ['https:', proxyUrl(httpsProxy)],
  ]);
  const exceptions = noProxy.map(exceptionOf);
  const texts = [...new Set(authorityFiles)].map(readAuthorities);
  let context: tls.SecureContext | undefined;
  return {
    proxyResolves,
    secureContext: () =>
      (context ??= texts.length === 0 ? undefined : tls.createSecureContext({ ca: [...ownAuthorities(), ...texts] })),
    proxyFor: (url) =>
      isLocal(url) || exceptions.some((matches) => matches(url)) ? undefined : proxies.get(url.protocol),
  };
}

function proxyUrl(text: string | null): URL | undefined {
  return text === null ? undefined : new URL(text.includes('://') ? text : `http://${text}`);
}

function ownAuthorities(): readonly string[] {
  // later versions of Node list all authorities that they trust; earlier ones only the bundled ones
  return 'getCACertificates' in tls
    ? (tls.getCACertificates as (type: string) => string[])('default')
    : tls.rootCertificates;
}

function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no certificate in PEM form');
    void new X509Certificate(text); // the first one, because a start would wait for hundreds
    return text;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw fail('ConfigError', `outgoing.ca_file (SSL_CERT_FILE): ${file} cannot be used: ${why}`, { cause: error });
  }
}

/** Returns whether a URL leads to this machine. Such URLs never use a proxy, for which the name would mean itself. */
function isLocal({ hostname }: URL): boolean {
  const address = literalAddress(hostname);
  return address === undefined
    ? /^(.*\.)?localhost\.?$/.test(hostname)
    : ipaddr.process(address).range() === 'loopback';
}

/**
 * Returns the matcher of an entry: `*`, `host` or `.host` (both with subdomains and an optional `:port`), an address,
 * or a network such as `10.0.0.0/8`.
 */
function exceptionOf(entry: string): (url: URL) => boolean {
  if (entry === '*') return () => true;
  if (ipaddr.isValidCIDR(entry)) {
    const [network, bits] = ipaddr.parseCIDR(entry);
    return ({ hostname }) => {
      const address = literalAddress(hostname);
      const parsed = address === undefined ? undefined : ipaddr.process(address);
      return parsed !== undefined && parsed.kind() === network.kind() && parsed.match(network, bits);
    };
  }
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*|.*)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
  const bare = host.replace(/^\*?\./, '').replace(/^\[|\]$/g, '');
  return (url) => {
    const hostname = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const itsPort = url.port || (url.protocol === 'https:' ? '443' : '80');
    return (
      (port === undefined || port === itsPort) && bare !== '' && (hostname === bare || hostname.endsWith(`.${bare}`))
    );
  };
}
