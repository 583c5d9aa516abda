import type { Context } from 'koa';
import { AccessError, type ApiKeys, keyRefused, scopeOfPath } from '../../access/index.ts';
import { AanaError } from '../../core/errors.ts';
import type { EndpointRegistry } from '../../endpoints/index.ts';
import { type Caller, callerOf, setCaller } from './caller.ts';
import { isPreflight } from './cors.ts';
import type { Guard } from './guards.ts';
import { isOpenPath } from './open-paths.ts';
import { offeredKey } from '../request/socket-request.ts';
import { refusalToRun } from './run-rights.ts';

/** Admits callers with an API key that allows the path, and stores the caller in the context. */
export function apiKeyGuard(apiKeys: ApiKeys, registry: EndpointRegistry): Guard {
  return async (ctx, next) => {
    setCaller(ctx);
    const key = keyIn(ctx);
    // The host answers OPTIONS without a key. No route of the application sees it.
    if (isOpenPath(ctx.path) || isPreflight(ctx) || (ctx.method === 'OPTIONS' && key === undefined)) return next();
    if (!apiKeys.isOpen)
      throw new AanaError(
        'NotReady',
        'unavailable',
        'the application is starting: try again when /api/ready answers 200',
      );
    if (key === undefined)
      throw keyRefused(
        'ApiKeyNotProvided',
        'an API key is needed: send the header x-api-key, or Authorization: Bearer',
      );
    const record = await apiKeys.authenticate(key, ctx.ip);
    const caller: Caller = {
      userId: record.user_id,
      isAdmin: record.is_admin,
      keyId: record.key_id,
      scopes: record.scopes,
      hasSubscription: record.is_subscription_active,
    };
    setCaller(ctx, caller);
    const refusal = refusalToRun(caller, ctx.path, registry.find(ctx.path));
    if (refusal) throw refusal;
    if (scopeOfPath(ctx.path) === 'admin' && !caller.isAdmin)
      throw new AccessError(
        'AdminOnlyAccess',
        'denied',
        `${ctx.path} is only for admins: it needs an API key of an admin`,
      );
    return next();
  };
}

/** Whether a caller has shown a known key. Without API keys every caller counts. */
export function isAuthenticated(ctx: Context, apiKeys: ApiKeys | undefined): boolean {
  return apiKeys === undefined || callerOf(ctx).keyId !== null;
}

/**
 * Returns the API key of a request: `x-api-key`, else the bearer of `Authorization`, else the one among the subprotocols
 * of a WebSocket, because a page can set no other header there.
 */
export function keyIn(ctx: Context): string | undefined {
  const key = ctx.get('x-api-key').trim();
  if (key !== '') return key;
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization'))?.[1] ?? offeredKey(ctx);
}
