import type { Context } from 'koa';
import { AccessError, type ApiKeyRecord, type ApiKeys, keyRefused, scopeOfPath } from '../../../data/access/index.ts';
import { fail } from '../../../base/core/errors.ts';
import type { HttpAppOptions } from '../options.ts';
import { callerOf, type KeyOwner, setCaller } from './caller.ts';
import { CLIENT_SECRET_PATH, clientSecretOf } from './client-secret-guard.ts';
import { isPreflight } from './cors.ts';
import type { Guard } from './guards.ts';
import { isOpenPath } from './open-paths.ts';
import { keyIn } from './offered-key.ts';
import { refusalToRun } from './run-rights.ts';

/** Admits callers with an API key that allows the path, and stores the caller in the context. */
export function apiKeyGuard(
  apiKeys: ApiKeys,
  { registry, routers }: Pick<HttpAppOptions, 'registry' | 'routers'>,
): Guard {
  const isOpen = (path: string): boolean => isOpenPath(path) && !(path === '/' && routers.hasRoot);
  return async (ctx, next) => {
    setCaller(ctx);
    const key = keyIn(ctx);
    // The host answers OPTIONS without a key. No route of the application sees it.
    if (isOpen(ctx.path) || isPreflight(ctx) || (ctx.method === 'OPTIONS' && key === undefined)) return next();
    if (!apiKeys.isOpen) throw fail('NotReady', 'the application is starting: try again when /api/ready answers 200');
    if (key === undefined)
      throw keyRefused(
        'ApiKeyNotProvided',
        'an API key is needed: send the header x-api-key, or Authorization: Bearer',
      );
    const record = (await ownerOfSecret(ctx, apiKeys)) ?? (await apiKeys.as(callerOf(ctx)).authenticate(key, ctx.ip));
    const caller: KeyOwner = {
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
      throw new AccessError('AdminOnlyAccess', `${ctx.path} is only for admins: it needs an API key of an admin`);
    return next();
  };
}

/** Whether a caller has shown a known key. Without API keys every caller counts. */
export function isAuthenticated(ctx: Context, apiKeys: ApiKeys | undefined): boolean {
  return apiKeys === undefined || callerOf(ctx).keyId !== null;
}

/** Returns the API key that made the client secret of a request; undefined for a request without a client secret. */
async function ownerOfSecret(ctx: Context, apiKeys: ApiKeys): Promise<ApiKeyRecord | undefined> {
  const secret = clientSecretOf(ctx);
  if (!secret) return undefined;
  if (secret.key === null) throw keyRefused('ApiKeyNotFound', 'the client secret is from a time without API keys');
  const owner = await apiKeys.as(callerOf(ctx)).ofClientSecret(secret.key);
  if (ctx.path === CLIENT_SECRET_PATH) return owner;
  throw new AccessError('InsufficientScope', `a client secret only opens ${CLIENT_SECRET_PATH}`, {
    'www-authenticate': 'Bearer error="insufficient_scope"',
  });
}
