import type { Context } from 'koa';
import { isForeignPage, originNotAllowed } from './foreign-page.ts';
import type { Guard } from './guards.ts';
import { isReading, READING } from '../request/reading.ts';

/** The settings of `cors`. */
export interface CorsOptions {
  readonly allow_origins: readonly string[];
  readonly allow_origin_regex: string | null;
  readonly allow_credentials: boolean;
  readonly allow_methods: readonly string[];
  readonly allow_headers: readonly string[];
}

/** Settings that allow no page of another origin. */
export const CLOSED: CorsOptions = {
  allow_origins: [],
  allow_origin_regex: null,
  allow_credentials: false,
  allow_methods: ['*'],
  allow_headers: ['*'],
};

/** Headers of answers that pages may read in addition to the usual ones. */
const EXPOSED =
  'x-request-id, request-id, mcp-session-id, retry-after, location, content-disposition, etag, x-aana-answer, ' +
  'ratelimit, ratelimit-policy, ' +
  'x-aana-deployment, x-aana-ignored-parameters, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, ' +
  'x-ratelimit-reset-requests, anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, ' +
  'anthropic-ratelimit-requests-reset';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Time for which browsers remember the answer to a preflight, in seconds, as in the original. */
const MAX_AGE_S = 600;
const LONGEST_ORIGIN = 300;

/**
 * Handles requests from pages of other origins. Allowed origins get headers that let their pages read answers,
 * including errors, and an answer to each preflight. Requests of other origins that change or compute something are
 * refused, because a browser sends a form to this server from any page. It also opens a WebSocket from any page, and
 * lets the page read it. For links and images, which have no `Origin`, the `Referer` says which page has them: only a
 * browser sends it for a page, and no page can send another one's.
 */
export function cors(options: CorsOptions): Guard {
  const isOpen = options.allow_origins.includes('*');
  const named = new Set(options.allow_origins.map((origin) => origin.toLowerCase()));
  const pattern = options.allow_origin_regex === null ? undefined : new RegExp(`^(?:${options.allow_origin_regex})$`);
  const isConfigured = options.allow_origins.length > 0 || pattern !== undefined;
  const isAllowed = (origin: string): boolean =>
    isOpen || named.has(origin.toLowerCase()) || (origin.length <= LONGEST_ORIGIN && pattern?.test(origin) === true);
  const allowsEveryHeader = options.allow_headers.includes('*');
  const allowedHeaders = options.allow_headers.join(', ');
  const allowedMethods = options.allow_methods.includes('*') ? METHODS : options.allow_methods.join(', ');

  return (ctx, next) => {
    // The application around this one has already decided.
    if (ctx.res.hasHeader('access-control-allow-origin')) return next();
    if (isConfigured && !isOpen) ctx.vary('Origin');
    const origin = ctx.get('origin');
    const isEmbedded = origin === '' && READING.has(ctx.method) && isAllowed(refererOf(ctx));
    // Without this the browser keeps the answer even from an image of the page.
    if (isEmbedded) ctx.set('cross-origin-resource-policy', 'cross-origin');
    if (origin === '' || !isAllowed(origin)) {
      if (isPreflight(ctx)) {
        if (isConfigured) throw originNotAllowed(origin);
      } else if (!isReading(ctx) && !isEmbedded && !isOpen && isForeignPage(ctx)) throw originNotAllowed(origin);
      return next();
    }
    ctx.set('access-control-allow-origin', isOpen ? '*' : origin);
    if (options.allow_credentials) ctx.set('access-control-allow-credentials', 'true');
    if (!isPreflight(ctx)) {
      ctx.set('access-control-expose-headers', EXPOSED);
      return next();
    }
    const wanted = ctx.get('access-control-request-headers');
    ctx.vary('Access-Control-Request-Headers');
    ctx.set('access-control-allow-methods', allowedMethods);
    if (allowsEveryHeader ? wanted !== '' : allowedHeaders !== '')
      ctx.set('access-control-allow-headers', allowsEveryHeader ? wanted : allowedHeaders);
    ctx.set('access-control-max-age', String(MAX_AGE_S));
    ctx.status = 204;
    return Promise.resolve();
  };
}

/** Returns the origin of the page that has the link or the image of a request; an empty text if nothing tells it. */
function refererOf(ctx: Context): string {
  const referer = ctx.get('referer');
  return URL.canParse(referer) ? new URL(referer).origin : '';
}

/**
 * Whether a request is a preflight, with which a browser asks what a page may send. The host answers it, and no route
 * sees it.
 */
export function isPreflight(ctx: Context): boolean {
  return ctx.method === 'OPTIONS' && ctx.get('origin') !== '' && ctx.get('access-control-request-method') !== '';
}
