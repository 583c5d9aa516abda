import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Context } from 'koa';
import { HttpError } from '../response/error-body.ts';
import type { Guard } from './guards.ts';
import { socketPath } from '../server/listening.ts';

export interface HostGuardOptions {
  /**
   * Names that were configured: `aana.example.org`, `.example.org` for that name and all below it, `*` for every name.
   */
  readonly allowedHosts: readonly string[];
  /** The address that the server listens on, or `unix:/path` of a socket. */
  readonly listensAt: string | undefined;
  /** Whether every request needs an API key. */
  readonly hasApiKeys: boolean;
}

/** A name without a dot. It is looked up in the local network alone: nobody can own it on the internet. */
const LOCAL_NAME = /^[a-z][a-z0-9_-]*$/;
const LONGEST_SHOWN = 100;

/**
 * Refuses requests whose `Host` is not a name of this server. A browser lets a page read answers of the name that it
 * came from; the owner of that name can change its address to this server's while the page is open (DNS rebinding). The
 * page then sends the foreign name, which is all that tells its requests from those of the server's own pages.
 *
 * An address always passes, because it leads to the server without a look-up. Without `allowedHosts` the check is left
 * out where a page gains nothing: over HTTPS, because the certificate is for other names, and where API keys are asked
 * for, because the page has none. What a trusted proxy says of name and protocol counts; yet where the proxy is on this
 * machine, a page in a browser on this machine can say the same, all but `Host`.
 */
export function hostGuard({ allowedHosts, listensAt, hasApiKeys }: HostGuardOptions): Guard {
  const isOwnName = ownNames(listensAt);
  const isAllowed = (name: string): boolean =>
    name === '' ||
    isIP(name) !== 0 ||
    isOwnName(name) ||
    allowedHosts.some((pattern) => matches(pattern.toLowerCase(), name));
  const isConfigured = allowedHosts.length > 0;
  return (ctx, next) => {
    const mayBeBrowser = LOOPBACK.test(ctx.req.socket.remoteAddress ?? '');
    const isEncrypted = 'encrypted' in ctx.req.socket || (ctx.protocol === 'https' && !mayBeBrowser);
    if (!isConfigured && (hasApiKeys || isEncrypted)) return next();
    checked.add(ctx.req);
    const wrong = [...(mayBeBrowser ? [ctx.get('host')] : []), ctx.host].map(nameOf).find((name) => !isAllowed(name)); // no name: no browser
    if (wrong !== undefined) throw notAllowed(wrong);
    return next();
  };
}

const checked = new WeakSet<IncomingMessage>();

/** Whether the host guard has looked at the name in this request. A server answers 421 only where it does. */
export function hasCheckedHost({ req }: Context): boolean {
  return checked.has(req);
}

/** The address of a connection from this machine. */
const LOOPBACK = /^(::ffff:)?127\.|^::1$/;

/** The name in a `Host`, without the port. */
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
  const takesLocalNames = listensAt !== undefined && !isLoopback(listensAt);
  return (name) =>
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    names.has(name) ||
    (takesLocalNames && LOCAL_NAME.test(name));
}

/** Whether nobody but programs of this machine can connect. A socket has a proxy in front of it, which others reach. */
function isLoopback(address: string): boolean {
  return socketPath(address) === undefined && /^(127\.|::1$|localhost$)/i.test(address);
}

function matches(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('.') ? name === pattern.slice(1) || name.endsWith(pattern) : name === pattern;
}

function notAllowed(name: string): HttpError {
  const shown = JSON.stringify(name.slice(0, LONGEST_SHOWN));
  return new HttpError(
    'HostNotAllowed',
    421,
    `${shown} is not a known name of this server: use its address or localhost, or allow the name with allowed_hosts (--allowed-host, AANA_ALLOWED_HOSTS)`,
  );
}
