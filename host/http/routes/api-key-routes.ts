import type { Router } from '@koa/router';
import { API_KEY_PREFIX, apiKeyInfo, type ApiKeys } from '../../access/index.ts';
import { KEY_ROUTES } from '../../openapi/index.ts';
import { HttpError } from '../response/error-body.ts';
import type { HttpAppOptions } from '../options.ts';
import { inputReader } from '../request/input-reader.ts';
import { serveRoute } from './serve-route.ts';

/** Adds the routes with which admins make, see and revoke keys. The guard refuses other callers. */
export function apiKeyRoutes(
  router: Router,
  apiKeys: ApiKeys,
  options: Pick<HttpAppOptions, 'limits' | 'tempDir'>,
): void {
  const inputOf = inputReader(options);
  /** Refuses a key in the place of its name, because logs and answers repeat names. */
  const checkName = async (name: string): Promise<void> => {
    if (name.startsWith(API_KEY_PREFIX) || (await apiKeys.isKey(name)))
      throw new HttpError(
        'ValidationError',
        422,
        'this is an API key, not a key_id: revoke it, because it was part of a URL',
      );
  };
  serveRoute(router, KEY_ROUTES.create, async ({ ctx }) => {
    const { apiKey, record } = await apiKeys.create(await inputOf(ctx, KEY_ROUTES.create.body));
    ctx.set('cache-control', 'no-store');
    return { api_key: apiKey, ...apiKeyInfo(record) };
  });
  serveRoute(router, KEY_ROUTES.list, async ({ query: { user_id: user = null, page, per_page: limit } }) => {
    const found = await apiKeys.list(user, { limit, offset: (page - 1) * limit });
    return { keys: found.map(apiKeyInfo) };
  });
  serveRoute(router, KEY_ROUTES.get, async ({ params: { key_id: keyId } }) => {
    await checkName(keyId);
    return apiKeyInfo(await apiKeys.get(keyId));
  });
  serveRoute(router, KEY_ROUTES.update, async ({ ctx, params: { key_id: keyId } }) => {
    await checkName(keyId);
    return apiKeyInfo(await apiKeys.update(keyId, await inputOf(ctx, KEY_ROUTES.update.body)));
  });
  serveRoute(router, KEY_ROUTES.revoke, async ({ params: { key_id: keyId } }) => {
    await checkName(keyId);
    await apiKeys.revoke(keyId);
    return { key_id: keyId };
  });
  serveRoute(router, KEY_ROUTES.setSubscription, async ({ ctx, params: { subscription_id: id } }) => {
    await checkName(id);
    const { is_active: isActive } = await inputOf(ctx, KEY_ROUTES.setSubscription.body);
    return { subscription_id: id, is_active: isActive, keys: await apiKeys.setSubscription(id, isActive) };
  });
}
