import type { Context } from 'koa';
import { AccessError, allowsPath, type ApiKeys, keyRefused, scopeOfPath } from '../access/index.ts';
import { AanaError } from '../core/errors.ts';
import type { EndpointRegistry } from '../endpoints/index.ts';
import { setCaller } from './caller.ts';
import type { Guard } from './guards.ts';

/** What is there for everybody, as in the original: documentation, and whether the host is up. */
const OPEN = /^\/(openapi\.json|docs|docs\/[^/]+|redoc|redoc\/[^/]+|api\/ready|livez|readyz)$/;

/** Whether a request needs no key and counts for no limit. */
export function isOpen(ctx: Context): boolean {
  return ctx.method === 'OPTIONS' || isOpenPath(ctx.path);
}

export function isOpenPath(path: string): boolean {
  return OPEN.test(path);
}

/** Lets through who has an API key, for what the key is for, and says who that is. */
export function apiKeyGuard(apiKeys: ApiKeys, registry: EndpointRegistry): Guard {
  return async (ctx, next) => {
    setCaller(ctx);
    if (isOpen(ctx)) return next();
    if (!apiKeys.isOpen) throw new AanaError('NotReady', 'unavailable', 'the application is starting: try again when /api/ready answers 200');
    const record = await apiKeys.authenticate(givenKey(ctx));
    setCaller(ctx, { userId: record.user_id, isAdmin: record.is_admin, keyId: record.key_id });
    if (!allowsPath(record.scopes, ctx.path)) {
      throw new AccessError('InsufficientScope', 'denied', `the API key is not for ${ctx.path}: its scopes are ${record.scopes?.join(', ')}`, { 'www-authenticate': 'Bearer error="insufficient_scope"' });
    }
    const endpoint = registry.find(ctx.path);
    if ((scopeOfPath(ctx.path) === 'admin' || endpoint?.adminRequired === true) && !record.is_admin) {
      throw new AccessError('AdminOnlyAccess', 'denied', `${ctx.path} is for admins: it needs an API key of one`);
    }
    if (endpoint?.activeSubscriptionRequired === true && !record.is_subscription_active) {
      throw new AccessError('InactiveSubscription', 'denied', `${ctx.path} needs an active subscription`);
    }
    return next();
  };
}

/** `x-api-key`, else the bearer of `Authorization`. */
function givenKey(ctx: Context): string {
  const key = ctx.get('x-api-key').trim();
  if (key !== '') return key;
  const [, bearer] = /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization')) ?? [];
  if (bearer === undefined) throw keyRefused('ApiKeyNotProvided', 'an API key is needed: send the header x-api-key, or Authorization: Bearer');
  return bearer;
}
