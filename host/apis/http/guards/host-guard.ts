import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Context } from 'koa';
import { isLoopback } from '../../../base/core/net/loopback.ts';
import { HttpError } from '../response/error-body.ts';
import type { Guard } from './guards.ts';
import { socketPath } from '../server/listening.ts';

export interface HostGuardOptions {
  /** Configured names: `aana.example.org`, `.example.org` for this name and all names below it, `*` for every name. */
  readonly allowedHosts: readonly string[];
  /** The address that the server listens on, or `unix:/path` of a socket. */
  readonly listensAt: string | undefined;
  /** Whether every request needs an API key. */
  readonly hasApiKeys: boolean;
}

/** Matches a name without a dot. Only the local network knows such names, so nobody can own one on the internet. */
const LOCAL_NAME = /^[a-z][a-z0-9_-]*$/;
const LONGEST_SHOWN = 100;

/**
 * Refuses requests whose `Host` is not a name of this server. A browser lets a page read answers from the name that the
 * page came from. The owner of this name can point it to the address of this server while the page is open (DNS
 * rebinding). Requests of that page have the foreign name, and nothing else distinguishes them from requests of the
 * pages of this server.
 *
 * An address always passes, because it leads to the server without a look-up. Without `allowedHosts` the check is left
 * out if a page gains nothing: over HTTPS, because the certificate is for other names, and with API keys, because the
 * page has none. The name and the protocol from a trusted proxy are used. But if the proxy is on this machine, a page
 * in a browser on this machine can send the same headers as the proxy, except `Host`.
 */
export function hostGuard({ allowedHosts, listensAt, hasApiKeys }: HostGuardOptions): Guard {
  const isOwnName = ownNames(listensAt);
  const isAllowed = (name: string): boolean =>
    name === '' ||
    isIP(name) !== 0 ||
    isOwnName(name) ||
    allowedHosts.some((pattern) => matches(pattern.toLowerCase(), name));
  const check = (header: string): void => {
    const name = nameOf(header);
    if (!isAllowed(name)) throw notAllowed(name);
  };
  const isConfigured = allowedHosts.length > 0;
  return (ctx, next) => {
    const mayBeBrowser = LOOPBACK.test(ctx.req.socket.remoteAddress ?? '');
    const isEncrypted = 'encrypted' in ctx.req.socket || (ctx.protocol === 'https' && !mayBeBrowser);
    if (!isConfigured && (hasApiKeys || isEncrypted)) return next();
    checked.add(ctx.req);
    const [sent, meant] = [ctx.get('host'), ctx.host];
    if (mayBeBrowser && sent !== meant) check(sent); // browsers always send a name
    check(meant);
    return next();
  };
}

const checked = new WeakSet<IncomingMessage>();

/** Whether the host guard has checked the name in this request. Only servers that check it answer 421. */
export function hasCheckedHost({ req }: Context): boolean {
  return checked.has(req);
}

/** Matches the address of a connection from this machine. */
const LOOPBACK = /^(::ffff:)?127\.|^::1$/;

/** Returns the name in a `Host`, without the port. */
function nameOf(header: string): string {
  const host = header.toLowerCase();
  const bracketed = /^\[([\da-f:.]+)\](:\d*)?$/.exec(host)?.[1];
  return bracketed ?? host.replace(/:\d*$/, '').replace(/\.$/, '');
}

function ownNames(listensAt: string | undefined): (name: string) => boolean {
  const machine = hostname().toLowerCase();
  const names = new Set([
    machine,
    `${machine.split('.', 1)[0]}.local`,
    ...(listensAt === undefined ? [] : [listensAt.toLowerCase()]),
  ]);
  const takesLocalNames = listensAt !== undefined && !isOnlyLocal(listensAt);
  return (name) =>
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    names.has(name) ||
    (takesLocalNames && LOCAL_NAME.test(name));
}

/** A socket is not only local, because other machines reach the proxy in front of it. */
function isOnlyLocal(address: string): boolean {
  return socketPath(address) === undefined && isLoopback(address);
}

function matches(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('.') ? name === pattern.slice(1) || name.endsWith(pattern) : name === pattern;
}

function notAllowed(name: string): HttpError {
  const shown = JSON.stringify(name.slice(0, LONGEST_SHOWN));
  return new HttpError(
    'HostNotAllowed',
    `${shown} is not a known name of this server: use its address or localhost, or allow the name with ` +
      `allowed_hosts (--allowed-host, AANA_ALLOWED_HOSTS)`,
  );
}
