import { raceAbort } from '../../base/core/abort.ts';
import { fail } from '../../base/core/errors.ts';
import { type AddressPolicy, isOfPrivateNetwork, literalAddress, type Lookup, systemLookup } from './addresses.ts';
import { downloadError, privateAddressError, reasonOf, withoutCredentials } from './errors.ts';
import type { Network } from './network.ts';
import { isForeignAddress } from './own-addresses.ts';

/** Rules and limits of outgoing requests that have no time limit but the signal. */
export interface UntimedGuards {
  /** Longest silence of the server, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Most redirects; more are an error. With 0 a redirect is returned as the answer. */
  readonly maxRedirects: number;
  /** Whether private addresses and those of this machine may be reached. */
  readonly allowPrivate: boolean;
  /**
   * Returns whether the operator has named the URL's host for this caller. An address, or this machine by the name
   * `localhost`, may then be reached, and a name that leads to private networks.
   */
  readonly isNamed?: ((url: URL) => boolean) | undefined;
  /** Proxies and certificate authorities. Default: no proxy, and the authorities of Node. */
  readonly network?: Network | undefined;
  /** Resolves host names instead of the system. */
  readonly lookup?: Lookup | undefined;
  /**
   * Decides which addresses may be reached. Default: by the registries of special addresses and the interfaces of this
   * machine.
   */
  readonly isPublic?: AddressPolicy | undefined;
  /** Returns why a URL must not be requested. Called for each URL, including redirects. */
  readonly refusalOf?: ((url: URL) => string | undefined) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Rules and limits of outgoing requests. */
export interface Guards extends UntimedGuards {
  /** Time limit of the whole request: names, redirects and body, in milliseconds. */
  readonly timeoutMs: number;
}

/** Guards of a running request. The signal aborts with the caller, and after the time limit if there is one. */
export type ActiveGuards = UntimedGuards & { readonly signal: AbortSignal };

/** Longest URL that servers accept and messages can show. */
const MAX_URL_LENGTH = 8192;

/** Ports of other protocols, which a request could be crafted to speak: the "bad ports" of the Fetch standard. */
const BAD_PORTS: ReadonlySet<string> = new Set(
  (
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 ' +
    '123 135 137 139 143 161 179 389 427 465 512 513 514 515 ' +
    '526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 ' +
    '6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
);

/** Returns the URL. Throws `DownloadException` if it is invalid or must not be requested. */
export function parseUrl(address: string): URL {
  if (address.length > MAX_URL_LENGTH)
    throw downloadError(
      `${withoutCredentials(address).slice(0, 100)}...`,
      `the URL is longer than ${MAX_URL_LENGTH} characters`,
    );
  let url: URL;
  try {
    url = new URL(address);
  } catch (error) {
    throw downloadError(address, 'it is not a URL', error);
  }
  requireHttp(url, url);
  return url;
}

/** Throws `DownloadException`, which names `start`, for a URL of another protocol than HTTP. */
export function requireHttp(start: URL, url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw downloadError(start, `only http and https are supported, not ${url.protocol.slice(0, -1)}`);
  if (BAD_PORTS.has(url.port)) throw downloadError(start, `port ${url.port} belongs to another protocol than HTTP`);
}

/** Throws `HostDenied` for a URL that must not be requested. */
export function requireAsked(url: URL, { refusalOf }: UntimedGuards): void {
  const refusal = refusalOf?.(url);
  if (refusal !== undefined)
    throw fail('HostDenied', `${withoutCredentials(url)} must not be requested: ${refusal}`, {
      data: { host: url.host },
    });
}

/** Names of this machine by definition. Not all resolvers know them. */
const BELOW_LOCALHOST = /(^localhost|\.localhost)\.?$/;
const LOOPBACK = ['127.0.0.1', '::1'] as const;

/** Returns all addresses of the URL's host after checking each of them. */
export async function resolveChecked(url: URL, options: ActiveGuards): Promise<readonly string[]> {
  const literal = literalAddress(url.hostname);
  const addresses =
    literal !== undefined ? [literal] : BELOW_LOCALHOST.test(url.hostname) ? LOOPBACK : await resolve(url, options);
  requireAllowed(url, addresses, options);
  return addresses;
}

export function requireAllowed(
  url: URL,
  addresses: readonly string[],
  { allowPrivate, isNamed, isPublic = isForeignAddress }: UntimedGuards,
): void {
  if (allowPrivate) return;
  const refused = addresses.find((address) => !isPublic(address) && !(isNamed?.(url) && isMeant(url, address)));
  if (refused !== undefined) throw privateAddressError(url, refused, isNamed !== undefined);
}

/**
 * Returns whether who names the URL's host means this private address. Whoever answers for a name chooses the address,
 * so a name never means this machine or a metadata service.
 */
const isMeant = ({ hostname }: URL, address: string): boolean =>
  literalAddress(hostname) !== undefined || BELOW_LOCALHOST.test(hostname) || isOfPrivateNetwork(address);

async function resolve(url: URL, { lookup = systemLookup, network, signal }: ActiveGuards): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await raceAbort(lookup(url.hostname), signal);
  } catch (error) {
    signal.throwIfAborted();
    const hint = network?.proxyFor(url) ? '; if only the proxy can resolve names, set outgoing.proxy_resolves' : '';
    throw downloadError(url, `the host ${url.hostname} is not known (${reasonOf(error)})${hint}`, error);
  }
  if (addresses.length === 0) throw downloadError(url, `the host ${url.hostname} has no address`);
  return addresses;
}
