import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';
import type { Guard } from './guards.ts';

/** Facts about a request from a trusted proxy. */
export interface Forwarded {
  /** Address of the client. */
  readonly ip: string;
  readonly protocol: 'http' | 'https' | undefined;
  readonly host: string | undefined;
  /** Path below which the proxy serves the application, such as `/ai`, or an empty text. */
  readonly prefix: string;
}

type Peer = ipaddr.IPv4 | ipaddr.IPv6;

/** Returns a function that tells whether an address, or `unix`, belongs to these proxies. */
export function trustOf(proxies: readonly string[]): (peer: string) => boolean {
  const networks = proxies.filter((name) => name !== 'unix').flatMap(networksOf);
  const trustsSockets = proxies.includes('unix');
  return (peer) => {
    if (peer === UNIX) return trustsSockets;
    const address = parse(peer);
    return (
      address !== undefined &&
      networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits))
    );
  };
}

/** Stands for clients of a Unix socket, which have no address. */
export const UNIX = 'unix';

const HOST = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;
const PREFIX = /^(\/[\w~-][\w.~-]*)+$/;

/**
 * Returns the facts in the headers of a request if `peer` is a trusted proxy; else undefined. The client is the last
 * address of `X-Forwarded-For` that is not a trusted proxy, because a client can send any addresses before it. Of the
 * other headers the last value counts. A malformed value counts as absent.
 */
export function forwardedFrom(
  peer: string,
  header: (name: string) => string,
  isTrusted: (peer: string) => boolean,
): Forwarded | undefined {
  if (!isTrusted(peer)) return undefined;
  let ip = addressIn(peer) ?? peer;
  for (const hop of header('x-forwarded-for').split(',').toReversed()) {
    const address = addressIn(hop.trim());
    if (address === undefined) break;
    ip = address;
    if (!isTrusted(address)) break;
  }
  const last = (name: string): string => header(name).split(',').at(-1)?.trim() ?? '';
  const protocol = last('x-forwarded-proto').toLowerCase();
  const host = last('x-forwarded-host');
  const prefix = last('x-forwarded-prefix').replace(/\/$/, '');
  return {
    ip,
    protocol: protocol === 'https' || protocol === 'http' ? protocol : undefined,
    host: HOST.test(host) ? host : undefined,
    prefix: PREFIX.test(prefix) ? prefix : '',
  };
}

/** Sets `ctx.ip`, `ctx.protocol`, `ctx.host` and the values derived from them to the facts from trusted proxies. */
export function trustProxies(proxies: readonly string[]): Guard {
  const isTrusted = trustOf(proxies);
  return (ctx, next) => {
    const forwarded = forwardedFrom(ctx.req.socket.remoteAddress ?? UNIX, (name) => ctx.get(name), isTrusted);
    if (forwarded) applyTo(ctx, forwarded);
    return next();
  };
}

/** Returns the path below which proxies serve the application, such as `/ai`, or an empty text. */
export function forwardedPrefix(ctx: Context): string {
  return (ctx.state['forwardedPrefix'] as string | undefined) ?? '';
}

/** Overrides the getters of Koa for this request, because Koa can only trust every sender or none. */
function applyTo(ctx: Context, { ip, protocol, host, prefix }: Forwarded): void {
  const define = (name: 'ip' | 'protocol' | 'host', value: string | undefined): void => {
    if (value !== undefined) Object.defineProperty(ctx.request, name, { value, configurable: true, writable: true });
  };
  define('ip', ip === UNIX ? undefined : ip);
  define('protocol', protocol);
  define('host', host);
  ctx.state['forwardedPrefix'] = prefix;
}

function networksOf(name: string): [Peer, number][] {
  if (name === 'loopback') return [...networksOf('127.0.0.0/8'), ...networksOf('::1')];
  if (ipaddr.isValidCIDR(name)) return [ipaddr.parseCIDR(name)];
  const address = ipaddr.parse(name);
  return [[address, address.kind() === 'ipv4' ? 32 : 128]];
}

/** Parses an address. An IPv4 address in the form of IPv6 becomes IPv4. */
function parse(text: string): Peer | undefined {
  if (!ipaddr.isValid(text)) return undefined;
  return ipaddr.process(text);
}

/** Returns the address in an entry of `X-Forwarded-For`. Some proxies add the port. */
function addressIn(entry: string): string | undefined {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? entry;
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? parse(bare)?.toString() : undefined;
}
