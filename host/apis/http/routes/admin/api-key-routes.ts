import type { Context } from 'koa';
import { API_KEY_PREFIX, apiKeyInfo, type ApiKeys, type KeyWork } from '../../../../data/access/index.ts';
import { KEY_ROUTES } from './api-key-definitions.ts';
import { HttpError } from '../../response/error-body.ts';
import type { HttpAppOptions } from '../../options.ts';
import { inputReader } from '../../request/input-reader.ts';
import { callerOf } from '../../guards/caller.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

/** Adds the routes with which admins make, see and revoke keys. The guard refuses other callers. */
export function apiKeyRoutes(
  router: HostRouter,
  apiKeys: ApiKeys,
  options: Pick<HttpAppOptions, 'limits' | 'tempDir'>,
): void {
  const inputOf = inputReader(options);
  const keysOf = (ctx: Context): KeyWork => apiKeys.as(callerOf(ctx));
  /** Refuses a key in the place of its name, because logs and answers repeat names. */
  const checkName = async (ctx: Context, name: string): Promise<void> => {
    if (name.startsWith(API_KEY_PREFIX) || (await keysOf(ctx).isKey(name)))
      throw new HttpError(
        'ValidationError',
        'this is an API key, not a key_id: revoke it, because it was part of a URL',
      );
  };
  serveRoute(router, KEY_ROUTES.create, async ({ ctx }) => {
    const { apiKey, record } = await keysOf(ctx).create(await inputOf(ctx, KEY_ROUTES.create.body));
    ctx.set('cache-control', 'no-store');
    return { api_key: apiKey, ...apiKeyInfo(record) };
  });
  serveRoute(router, KEY_ROUTES.list, async ({ ctx, query: { user_id: user = null, page, per_page: limit } }) => {
    const found = await keysOf(ctx).list(user, { limit, offset: (page - 1) * limit });
    return { keys: found.map(apiKeyInfo) };
  });
  serveRoute(router, KEY_ROUTES.get, async ({ ctx, params: { key_id: keyId } }) => {
    await checkName(ctx, keyId);
    return apiKeyInfo(await keysOf(ctx).get(keyId));
  });
  serveRoute(router, KEY_ROUTES.update, async ({ ctx, params: { key_id: keyId } }) => {
    await checkName(ctx, keyId);
    return apiKeyInfo(await keysOf(ctx).update(keyId, await inputOf(ctx, KEY_ROUTES.update.body)));
  });
  serveRoute(router, KEY_ROUTES.revoke, async ({ ctx, params: { key_id: keyId } }) => {
    await checkName(ctx, keyId);
    await keysOf(ctx).revoke(keyId);
    return { key_id: keyId };
  });
  serveRoute(router, KEY_ROUTES.setSubscription, async ({ ctx, params: { subscription_id: id } }) => {
    await checkName(ctx, id);
    const { is_active: isActive } = await inputOf(ctx, KEY_ROUTES.setSubscription.body);
    const keys = await keysOf(ctx).setSubscription(id, isActive);
    return { subscription_id: id, is_active: isActive, keys };
  });
}
