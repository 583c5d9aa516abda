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
  /** Set for a connection to a proxy, which needs the whole URL and these additional headers. */
  readonly throughProxy?: { readonly headers: Readonly<Record<string, string>> } | undefined;
}

export interface ConnectOptions extends Pick<ActiveGuards, 'network' | 'idleTimeoutMs' | 'signal'> {
  /** Checked addresses of the URL's host. Default: the addresses of the name, unchecked. */
  readonly addresses?: readonly string[] | undefined;
}

/**
 * Connects to the URL's server at a checked address, ready for HTTP. The name is not resolved a second time. If a proxy
 * is set, it opens a tunnel to that address; with `proxyResolves` it gets the name, and only addresses in the URL
 * itself are checked.
 */
export async function connectChecked(url: URL, options: ActiveGuards): Promise<Connection> {
  return connect(url, { ...options, addresses: await checkedAddresses(url, options) });
}

/** Like {@link connectChecked}, but without TLS, which is left to the caller. */
export async function tunnelChecked(url: URL, options: ActiveGuards): Promise<Duplex> {
  return reach(url, { ...options, addresses: await checkedAddresses(url, options) });
}

/** Connects without checks, for URLs of the operator. */
export async function connect(url: URL, options: ConnectOptions): Promise<Connection> {
  const proxy = options.addresses === undefined ? wholeUrlProxy(url, options.network) : undefined;
  if (proxy) {
    const stream = await dial(proxy, options);
    return {
      stream: proxy.protocol === 'https:' ? await secure(stream, proxy, options) : stream,
      ...throughProxy(proxy),
    };
  }
  const stream = await reach(url, options);
  return { stream: url.protocol === 'https:' ? await secure(stream, url, options) : stream };
}

/** Returns the proxy that gets the whole URL of a request. For https a proxy opens a tunnel. */
export function wholeUrlProxy(url: URL, network: Network = directNetwork): URL | undefined {
  return url.protocol === 'http:' ? network.proxyFor(url) : undefined;
}

export const throughProxy = (proxy: URL): Pick<Connection, 'throughProxy'> => ({
  throughProxy: { headers: proxyHeaders(proxy) },
});

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

/** Opens a tunnel to the first address that the proxy reaches. */
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

/** Opens a tunnel. Errors name the URL's host and not its address, because clients read them. */
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
            ? 'the proxy requires a user name and password (407)'
            : `the proxy refuses a tunnel to the address of ${url.hostname}:${portOf(url)} (${statusCode}); allow ` +
                `it in the proxy, or set outgoing.proxy_resolves`,
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

/** Resolves with the event. A failure, silence or the signal destroys the socket. */
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
      socket.on('error', () => {}); // only the first error matters
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

/** Returns a lookup function that always returns the checked addresses. */
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
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
