import type { Context } from 'koa';
import { apiKeyGuard } from './api-key-guard.ts';
import { drainGuard } from './drain-guard.ts';
import { clientSecretGuard } from './client-secret-guard.ts';
import { CLOSED, cors } from './cors.ts';
import { trustProxies } from './forwarded.ts';
import { hostGuard } from './host-guard.ts';
import { noTelemetry } from '../../../base/core/telemetry.ts';
import type { HttpAppOptions } from '../options.ts';
import { rateLimitGuard } from './rate-limit-guard.ts';
import { securityHeaders } from './security-headers.ts';
import { userLimitGuard } from './user-limit-guard.ts';
import { subscriptionGuard } from './subscription-guard.ts';

/** A check of incoming requests. It throws to refuse a request, and else calls `next` once. */
export type Guard = (ctx: Context, next: () => Promise<void>) => Promise<void>;

/**
 * Returns the guards of an application, the outermost first. `listensAt` is the address of its own server, if it has
 * one.
 */
export function guardsOf(options: HttpAppOptions, listensAt?: string): readonly Guard[] {
  const {
    trustedProxies = [],
    allowedHosts = [],
    hstsMaxAgeS = 0,
    cors: origins = CLOSED,
    apiKeys,
    rateLimits,
    userLimits,
    telemetry = noTelemetry,
    clientSecrets,
    needsSubscription,
    drain,
  } = options;
  const checksHost = listensAt !== undefined || allowedHosts.length > 0;
  return [
    ...(trustedProxies.length > 0 ? [trustProxies(trustedProxies)] : []),
    securityHeaders(hstsMaxAgeS),
    ...(checksHost ? [hostGuard({ allowedHosts, listensAt, hasApiKeys: apiKeys !== undefined })] : []),
    cors(origins),
    ...(drain ? [drainGuard(drain)] : []),
    ...(clientSecrets ? [clientSecretGuard(clientSecrets, apiKeys !== undefined)] : []),
    ...(apiKeys ? [apiKeyGuard(apiKeys, options)] : []),
    ...(apiKeys && needsSubscription ? [subscriptionGuard(needsSubscription)] : []),
    ...(rateLimits ? [rateLimitGuard(rateLimits, telemetry, options, options.registry)] : []),
    ...(userLimits ? [userLimitGuard(userLimits, options)] : []),
  ];
}

/** Passes a request through the guards from the one at `from` to `last`. */
export function passGuards(guards: readonly Guard[], ctx: Context, last: () => Promise<void>, from = 0): Promise<void> {
  const guard = guards[from];
  return guard ? guard(ctx, () => passGuards(guards, ctx, last, from + 1)) : last();
}
