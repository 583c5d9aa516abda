import type { Context } from 'koa';
import { HttpError } from '../response/error-body.ts';

const LONGEST_ORIGIN = 300;
/** Every browser starts its `User-Agent` with this. curl and the libraries of programming languages do not. */
const BROWSER = /^Mozilla\//;

/**
 * Whether a page of another origin sends the request. `Sec-Fetch-Site` has the answer. Old browsers do not send it, and
 * no browser sends it over plain HTTP to another machine. Then `Origin` is compared with the name of this server, which
 * a proxy may have changed.
 */
export function isForeignPage(ctx: Context): boolean {
  const site = ctx.get('sec-fetch-site');
  if (site !== '') return site !== 'same-origin' && site !== 'none';
  const origin = ctx.get('origin');
  return origin !== '' && !isOwnOrigin(ctx, origin);
}

/**
 * Refuses a GET request from a page of another origin. It is for routes that change something. Such a request needs no
 * script, because an image is enough, and has no `Origin`. If the browser does not send `Sec-Fetch-Site` either, only
 * its `Referer` can show that the page belongs to this server. Programs that are not browsers pass.
 */
export function refuseForeignGet(ctx: Context, instead: string): void {
  if (ctx.res.hasHeader('access-control-allow-origin')) return; // an origin that the configuration allows
  const tells = ctx.get('sec-fetch-site') !== '' || ctx.get('origin') !== '';
  const isForeign = tells
    ? isForeignPage(ctx)
    : BROWSER.test(ctx.get('user-agent')) && !isOwnOrigin(ctx, ctx.get('referer'));
  if (isForeign)
    throw new HttpError(
      'OriginNotAllowed',
      `${ctx.path} changes data: a browser may request it only from a page of this server; ${instead}`,
    );
}

export function originNotAllowed(origin: string): HttpError {
  const pages = origin === '' ? 'another origin' : origin.slice(0, LONGEST_ORIGIN);
  return new HttpError(
    'OriginNotAllowed',
    `pages of ${pages} may not use this server: allow the origin with cors.allow_origins; if it is this server ` +
      `behind a proxy, add the proxy to trusted_proxies`,
  );
}

/** Whether an origin, or an address below it, belongs to this server. */
function isOwnOrigin(ctx: Context, url: string): boolean {
  return /^https?:\/\/([^/]*)/.exec(url)?.[1]?.toLowerCase() === ctx.host.toLowerCase();
}
