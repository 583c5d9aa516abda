import { open, rm } from 'node:fs/promises';
import { type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type LookupFunction, isIPv6 } from 'node:net';
import { dirname } from 'node:path';
import { raceAbort } from '../core/abort.ts';
import { AanaError } from '../core/errors.ts';
import { type AddressPolicy, type Lookup, isPublicAddress, literalAddress, systemLookup } from './addresses.ts';
import { diskFullError, downloadError, isDiskFull, privateAddressError, urlTooLargeError, withoutCredentials } from './errors.ts';

export interface FetchOptions {
  readonly maxBytes: number;
  /** For everything: names, redirects, body. */
  readonly timeoutMs: number;
  /** Longest silence of the server. */
  readonly idleTimeoutMs: number;
  readonly maxRedirects: number;
  readonly allowPrivate: boolean;
  readonly lookup?: Lookup | undefined;
  readonly isPublic?: AddressPolicy | undefined;
  readonly signal?: AbortSignal | undefined;
}

export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches `address` (http or https) into the new file `path` and gives its size. Every address that a host name has is checked and the
 * connection goes to one that was, at every redirect again; so neither a name that changes its answer nor a redirect leads to a private one.
 * A file that was not finished is removed. Throws `DownloadException`, `PrivateAddressException`, `MediaTooLargeException`,
 * `DiskFullException`, or the signal's reason.
 */
export async function fetchToFile(address: string, path: string, options: FetchOptions): Promise<number> {
  options.signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  const url = parseUrl(address);
  try {
    const response = await openFollowing(url, { ...options, signal });
    return await save(response, path, options.maxBytes, signal);
  } catch (error) {
    await rm(path, { force: true });
    options.signal?.throwIfAborted();
    if (deadline.aborted) throw downloadError(url, `it took longer than ${options.timeoutMs / 1000} s`, error);
    if (error instanceof AanaError) throw error;
    if (isDiskFull(error)) throw diskFullError(dirname(path), error);
    throw downloadError(url, reasonOf(error), error);
  }
}

interface Response {
  readonly url: URL;
  readonly message: IncomingMessage;
}

interface Credentials {
  readonly origin: string;
  readonly header: string;
}

async function openFollowing(start: URL, options: FetchOptions & { signal: AbortSignal }): Promise<Response> {
  const credentials = credentialsOf(start);
  let url = start;
  for (let hops = 0; ; hops++) {
    const addresses = await resolveChecked(url, options);
    const message = await respond(url, addresses, credentials, options);
    const status = message.statusCode ?? 0;
    const location = message.headers.location;
    if (REDIRECTS.has(status) && location !== undefined) {
      message.destroy();
      if (hops >= options.maxRedirects) throw downloadError(start, `it redirects more than ${options.maxRedirects} times`);
      url = redirectTarget(start, url, location);
      continue;
    }
    if (status < 200 || status > 299) {
      message.destroy();
      throw downloadError(start, `the server answered ${status}${message.statusMessage ? ` ${message.statusMessage}` : ''}`);
    }
    return { url, message };
  }
}

/** What servers take at most, and messages can show. */
const MAX_URL_LENGTH = 8192;

export function parseUrl(address: string): URL {
  if (address.length > MAX_URL_LENGTH) throw downloadError(`${withoutCredentials(address).slice(0, 100)}...`, `the URL is longer than ${MAX_URL_LENGTH} characters`);
  let url: URL;
  try {
    url = new URL(address);
  } catch (error) {
    throw downloadError(address, 'it is not a URL', error);
  }
  requireHttp(url, url);
  return url;
}

function requireHttp(start: URL, url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw downloadError(start, `only http and https are fetched, not ${url.protocol.slice(0, -1)}`);
}

export function redirectTarget(start: URL, from: URL, location: string): URL {
  let url: URL;
  try {
    url = new URL(location, from);
  } catch (error) {
    throw downloadError(start, 'it redirects to something that is not a URL', error);
  }
  requireHttp(start, url);
  return url;
}

/** The user name and password of the URL that the client gave, for its own origin alone; those in a redirect are not used. */
function credentialsOf(url: URL): Credentials | undefined {
  if (url.username === '' && url.password === '') return undefined;
  let pair: string;
  try {
    pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch (error) {
    throw downloadError(url, 'a "%" in its user name or password is not followed by a code', error);
  }
  return { origin: url.origin, header: `Basic ${Buffer.from(pair).toString('base64')}` };
}

export async function resolveChecked(url: URL, options: FetchOptions & { signal: AbortSignal }): Promise<readonly string[]> {
  const literal = literalAddress(url.hostname);
  const addresses = literal === undefined ? await resolve(url, options) : [literal];
  if (!options.allowPrivate) {
    const isPublic = options.isPublic ?? isPublicAddress;
    const refused = addresses.find((address) => !isPublic(address));
    if (refused !== undefined) throw privateAddressError(url, refused);
  }
  return addresses;
}

async function resolve(url: URL, options: FetchOptions & { signal: AbortSignal }): Promise<readonly string[]> {
  const lookup = options.lookup ?? systemLookup;
  let addresses: readonly string[];
  try {
    addresses = await raceAbort(lookup(url.hostname), options.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    throw downloadError(url, `the host ${url.hostname} is not known (${reasonOf(error)})`, error);
  }
  if (addresses.length === 0) throw downloadError(url, `the host ${url.hostname} has no address`);
  return addresses;
}

/** Answers every question with the addresses that were checked. */
export function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const wanted = entries.filter(({ family }) => !options.family || options.family === family || options.family === `IPv${family}`);
    const first = wanted[0];
    if (!first) callback(Object.assign(new Error('no address of this family'), { code: 'ENOTFOUND' }), '', 0);
    else if (options.all) callback(null, wanted);
    else callback(null, first.address, first.family);
  };
}

function respond(url: URL, addresses: readonly string[], credentials: Credentials | undefined, options: FetchOptions & { signal: AbortSignal }): Promise<IncomingMessage> {
  const { signal } = options;
  const request: RequestOptions = {
    method: 'GET',
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      accept: '*/*',
      'accept-encoding': 'identity', // sizes are counted, and nothing is unpacked
      'user-agent': 'aana-host',
      connection: 'close',
      ...(credentials?.origin === url.origin && { authorization: credentials.header }),
    },
    agent: false, // a connection of its own: none that somebody else opened
    lookup: pinnedLookup(addresses),
    timeout: options.idleTimeoutMs, // of the socket: while connecting, too
    signal,
  };
  return new Promise((resolveOpen, reject) => {
    const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(request);
    let response: IncomingMessage | undefined;
    outgoing.on('timeout', () => (response ?? outgoing).destroy(new Error(`the server sent nothing for ${options.idleTimeoutMs / 1000} s`)));
    outgoing.on('response', (message) => {
      response = message;
      resolveOpen(message);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function save({ url, message }: Response, path: string, maxBytes: number, signal: AbortSignal): Promise<number> {
  const announced = Number(message.headers['content-length']);
  if (announced > maxBytes) {
    message.destroy();
    throw urlTooLargeError(url, maxBytes);
  }
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    message.destroy();
    throw downloadError(url, `the server sent it in the encoding ${encoding}, which was not asked for`);
  }
  // not pipeline(): it never settles when writing fails while the end of a response waits in memory, its connection closed (Node 20 to 24)
  await using file = await open(path, 'wx', 0o600);
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw urlTooLargeError(url, maxBytes);
    await file.writeFile(chunk);
    signal.throwIfAborted();
  }
  return bytes;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed before the end',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server does not answer',
  ETIMEDOUT: 'the connection timed out',
};

export function reasonOf(error: unknown): string {
  // several addresses were tried: each has its error
  const single = error instanceof AggregateError ? (error.errors as readonly unknown[])[0] : error;
  if (!(single instanceof Error)) return String(single);
  const code = 'code' in single && typeof single.code === 'string' ? single.code : '';
  return REASONS[code] ?? (single.message || code);
}
