import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as netConnect, isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect, type SecureContext } from 'node:tls';
import { literalAddress } from './addresses.ts';
import { type ActiveGuards, requireAllowed, resolveChecked } from './guards.ts';
import { directNetwork, type Network } from './network.ts';

export interface Connection {
  readonly stream: Duplex;
  /** It leads to a proxy that is to be asked for the whole URL, with these headers besides. */
  readonly throughProxy?: { readonly headers: Readonly<Record<string, string>> } | undefined;
}

export interface ConnectOptions extends Pick<ActiveGuards, 'network' | 'idleTimeoutMs' | 'signal'> {
  /** The checked addresses of a URL's host; absent: those of the name, unchecked. */
  readonly addresses?: readonly string[] | undefined;
}

/**
 * A connection to the URL's server, ready for HTTP, at an address of its host that was checked: nothing looks the name
 * up a second time. Where a proxy is set it is asked for a tunnel to that address; with `proxyResolves` it is asked for
 * the name, and only addresses that are written in the URL are checked.
 */
export async function connectChecked(url: URL, options: ActiveGuards): Promise<Connection> {
  return connect(url, { ...options, addresses: await checkedAddresses(url, options) });
}

/** The same as bytes: what the URL's scheme puts over the connection is left to the caller. */
export async function tunnelChecked(url: URL, options: ActiveGuards): Promise<Duplex> {
  return reach(url, { ...options, addresses: await checkedAddresses(url, options) });
}

/** A connection without checks: for addresses that the operator gave. */
export async function connect(url: URL, options: ConnectOptions): Promise<Connection> {
  const proxy = (options.network ?? directNetwork).proxyFor(url);
  if (proxy && url.protocol === 'http:' && options.addresses === undefined) {
    const stream = await dial(proxy, options);
    return {
      stream: proxy.protocol === 'https:' ? await secure(stream, proxy, options) : stream,
      throughProxy: { headers: proxyHeaders(proxy) },
    };
  }
  const stream = await reach(url, options);
  return { stream: url.protocol === 'https:' ? await secure(stream, url, options) : stream };
}

async function checkedAddresses(url: URL, options: ActiveGuards): Promise<readonly string[] | undefined> {
  const network = options.network ?? directNetwork;
  if (network.proxyFor(url) === undefined || !network.proxyResolves) return resolveChecked(url, options);
  const literal = literalAddress(url.hostname);
  if (literal !== undefined) requireAllowed(url, [literal], options);
  return undefined;
}

function reach(url: URL, options: ConnectOptions): Promise<Duplex> {
  const proxy = (options.network ?? directNetwork).proxyFor(url);
  return proxy ? openTunnel(proxy, url, options) : dial(url, options);
}

async function dial(url: URL, options: ConnectOptions): Promise<Duplex> {
  const { addresses } = options;
  const socket = netConnect({
    host: bareHost(url),
    port: portOf(url),
    ...(addresses && { lookup: pinnedLookup(addresses) }),
  });
  await ready(socket, 'connect', options);
  return socket;
}

/** A tunnel to the first address that the proxy reaches. */
async function openTunnel(proxy: URL, url: URL, options: ConnectOptions): Promise<Duplex> {
  const targets = options.addresses ?? [bareHost(url)];
  let failure: unknown;
  for (const target of targets.slice(0, MAX_TRIES)) {
    try {
      return await tunnelTo(proxy, url, `${isIPv6(target) ? `[${target}]` : target}:${portOf(url)}`, options);
    } catch (error) {
      options.signal.throwIfAborted();
      failure ??= error;
    }
  }
  throw failure;
}

const MAX_TRIES = 4;

/** Errors name the URL's host, not the address that it has: clients read them. */
function tunnelTo(
  proxy: URL,
  url: URL,
  target: string,
  { network = directNetwork, idleTimeoutMs, signal }: ConnectOptions,
): Promise<Duplex> {
  const request: RequestOptions = {
    method: 'CONNECT',
    protocol: proxy.protocol,
    hostname: bareHost(proxy),
    port: portOf(proxy),
    path: target,
    headers: { host: target, ...proxyHeaders(proxy) },
    agent: false,
    timeout: idleTimeoutMs,
    signal,
  };
  return new Promise((resolve, reject) => {
    const asked =
      proxy.protocol === 'https:' ? httpsRequest({ ...request, ...certificates(network) }) : httpRequest(request);
    asked.on('timeout', () => asked.destroy(new Error(`the proxy did not answer for ${idleTimeoutMs / 1000} s`)));
    asked.on('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ECONNREFUSED' ? new Error('the proxy cannot be reached', { cause: error }) : error),
    );
    asked.on('connect', ({ statusCode }, socket: Socket, head) => {
      socket.setTimeout(0);
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(
        new Error(
          statusCode === 407
            ? 'the proxy wants a user name and password (407)'
            : `the proxy refuses a tunnel to the address of ${url.hostname}:${portOf(url)} (${statusCode}); have it allowed there, or set outgoing.proxy_resolves`,
        ),
      );
    });
    asked.end();
  });
}

async function secure(raw: Duplex, url: URL, options: ConnectOptions): Promise<Duplex> {
  const host = bareHost(url);
  const isName = literalAddress(url.hostname) === undefined;
  const stream = tlsConnect({
    socket: raw,
    host,
    ALPNProtocols: ['http/1.1'],
    ...(isName && { servername: host }),
    ...certificates(options.network ?? directNetwork),
  });
  await ready(stream, 'secureConnect', options);
  return stream;
}

function certificates(network: Network): { secureContext?: SecureContext } {
  const secureContext = network.secureContext();
  return secureContext ? { secureContext } : {};
}

/** Resolves with the event; a failure, a silence or the signal destroys the socket. */
function ready(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { idleTimeoutMs, signal }: ConnectOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off('error', onError).off('close', onClose).off('timeout', onTimeout);
      signal.removeEventListener('abort', onAbort);
      socket.setTimeout(0);
    };
    const onError = (error: Error): void => {
      settle();
      socket.on('error', () => {}); // what comes after the first says nothing new
      socket.destroy();
      reject(error);
    };
    const onClose = (): void => onError(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    const onTimeout = (): void => onError(new Error(`the server sent nothing for ${idleTimeoutMs / 1000} s`));
    const onAbort = (): void => onError(signal.reason as Error);
    socket.on('error', onError).on('close', onClose).on('timeout', onTimeout);
    socket.setTimeout(idleTimeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once(event, () => {
      settle();
      resolve();
    });
    if (signal.aborted) onAbort();
  });
}

/** Answers every question with the addresses that were checked. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const wanted = entries.filter(
      ({ family }) => !options.family || options.family === family || options.family === `IPv${family}`,
    );
    const first = wanted[0];
    if (!first) callback(Object.assign(new Error('no address of this family'), { code: 'ENOTFOUND' }), '', 0);
    else if (options.all) callback(null, wanted);
    else callback(null, first.address, first.family);
  };
}

function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  return {
    'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`,
  };
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
