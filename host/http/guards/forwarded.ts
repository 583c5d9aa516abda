import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';
import type { Guard } from './guards.ts';

/** What a trusted proxy says of the request that it took. */
export interface Forwarded {
  /** Address of the client. */
  readonly ip: string;
  readonly protocol: 'http' | 'https' | undefined;
  readonly host: string | undefined;
  /** Below which path the proxy has the application: `/ai`, or nothing. */
  readonly prefix: string;
}

type Peer = ipaddr.IPv4 | ipaddr.IPv6;

/** Whether an address, or `unix`, is one of these proxies. */
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

/** Who connects to a Unix socket has no address. */
export const UNIX = 'unix';

const HOST = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;
const PREFIX = /^(\/[\w~-][\w.~-]*)+$/;

/**
 * What the headers of a request say, when `peer` is trusted to have set them; else undefined. The client is the last
 * address of `X-Forwarded-For` that is no trusted proxy: those before it came with the request and can be anything. Of
 * the other headers the last value counts. What is not what it should be is as if it were not there.
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

/** Has `ctx.ip`, `ctx.protocol` and `ctx.host`, and what follows from them, say what trusted proxies have said. */
export function trustProxies(proxies: readonly string[]): Guard {
  const isTrusted = trustOf(proxies);
  return (ctx, next) => {
    const forwarded = forwardedFrom(ctx.req.socket.remoteAddress ?? UNIX, (name) => ctx.get(name), isTrusted);
    if (forwarded) applyTo(ctx, forwarded);
    return next();
  };
}

/** Where proxies have the application: `/ai`, or nothing. */
export function forwardedPrefix(ctx: Context): string {
  return (ctx.state['forwardedPrefix'] as string | undefined) ?? '';
}

/** Koa knows to trust everybody or nobody; its getters are covered by what is true of this request. */
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

/** An address; an IPv4 one also where it is written as IPv6. */
function parse(text: string): Peer | undefined {
  if (!ipaddr.isValid(text)) return undefined;
  return ipaddr.process(text);
}

/** The address in an entry of `X-Forwarded-For`; some proxies add the port. */
function addressIn(entry: string): string | undefined {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? entry;
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? parse(bare)?.toString() : undefined;
}
