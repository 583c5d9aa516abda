import type { Context } from 'koa';
import { apiKeyGuard } from './api-key-guard.ts';
import { CLOSED, cors } from './cors.ts';
import { trustProxies } from './forwarded.ts';
import { hostGuard } from './host-guard.ts';
import type { HttpAppOptions } from '../options.ts';
import { rateLimitGuard } from './rate-limit-guard.ts';
import { securityHeaders } from './security-headers.ts';

/** What a request passes on its way in: it throws to refuse, and calls `next` once otherwise. */
export type Guard = (ctx: Context, next: () => Promise<void>) => Promise<void>;

/**
 * The guards of an application, the first one outermost. `listensAt`: the address of its own server, where there is
 * one.
 */
export function guardsOf(options: HttpAppOptions, listensAt?: string): readonly Guard[] {
  const {
    trustedProxies = [],
    allowedHosts = [],
    hstsMaxAgeS = 0,
    cors: origins = CLOSED,
    apiKeys,
    registry,
    rateLimits,
  } = options;
  const checksHost = listensAt !== undefined || allowedHosts.length > 0;
  return [
    ...(trustedProxies.length > 0 ? [trustProxies(trustedProxies)] : []),
    securityHeaders(hstsMaxAgeS),
    ...(checksHost ? [hostGuard({ allowedHosts, listensAt, hasApiKeys: apiKeys !== undefined })] : []),
    cors(origins),
    ...(apiKeys ? [apiKeyGuard(apiKeys, registry)] : []),
    ...(rateLimits ? [rateLimitGuard(rateLimits)] : []),
  ];
}

/** Leads a request through all guards to `last`. */
export function passGuards(guards: readonly Guard[], ctx: Context, last: () => Promise<void>): Promise<void> {
  const [guard, ...rest] = guards;
  return guard ? guard(ctx, () => passGuards(rest, ctx, last)) : last();
}
