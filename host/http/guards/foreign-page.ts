import type { Context } from 'koa';
import { HttpError } from '../response/error-body.ts';

const LONGEST_ORIGIN = 300;
/** Every browser begins its `User-Agent` like this; curl and the libraries of programming languages do not. */
const BROWSER = /^Mozilla\//;

/**
 * Whether a page of another origin sends the request. Browsers say so in `Sec-Fetch-Site`. Older ones, and those that
 * speak plain HTTP to another machine, do not: then `Origin` is compared with the name of this server, which a proxy
 * may have changed.
 */
export function isForeignPage(ctx: Context): boolean {
  const site = ctx.get('sec-fetch-site');
  if (site !== '') return site !== 'same-origin' && site !== 'none';
  const origin = ctx.get('origin');
  return origin !== '' && !isOwnOrigin(ctx, origin);
}

/**
 * Refuses a GET request that a page of another origin has caused: for routes that change something. Such a request
 * needs no script (an image is enough) and carries no `Origin`. Where the browser does not send `Sec-Fetch-Site`
 * either, only its `Referer` can show that it is one of this server's own pages. Programs that are no browsers pass.
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
      403,
      `${ctx.path} changes something: a browser may ask for it from a page of this server alone; ${instead}`,
    );
}

export function originNotAllowed(origin: string): HttpError {
  const pages = origin === '' ? 'another origin' : origin.slice(0, LONGEST_ORIGIN);
  return new HttpError(
    'OriginNotAllowed',
    403,
    `pages of ${pages} may not use this server: allow the origin with cors.allow_origins; where it is this server behind a proxy, name the proxy in trusted_proxies`,
  );
}

/** Whether an origin, or an address below it, is that of this server. */
function isOwnOrigin(ctx: Context, url: string): boolean {
  return /^https?:\/\/([^/]*)/.exec(url)?.[1]?.toLowerCase() === ctx.host.toLowerCase();
}
