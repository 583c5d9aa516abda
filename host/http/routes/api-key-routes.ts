import type { Router } from '@koa/router';
import type { Context } from 'koa';
import * as z from 'zod';
import {
  API_KEY_PREFIX,
  apiKeyInfo,
  type ApiKeys,
  type KeyChangesInput,
  type NewKeyInput,
} from '../../access/index.ts';
import { parseInput } from '../../endpoints/index.ts';
import { HttpError } from '../response/error-body.ts';
import type { HttpAppOptions } from '../options.ts';
import { pageOf } from '../request/page.ts';
import { queryValue } from '../request/query.ts';
import { readBody } from '../request/request-body.ts';

const Subscription = z.strictObject({ is_active: z.boolean() });

/** What admins make, see and revoke keys with; the guard lets nobody else come here. */
export function apiKeyRoutes(
  router: Router,
  apiKeys: ApiKeys,
  { limits, tempDir }: Pick<HttpAppOptions, 'limits' | 'tempDir'>,
): void {
  const inputOf = async (ctx: Context): Promise<unknown> => {
    await using body = await readBody(ctx, { ...limits, max_files: 0 }, tempDir);
    return body.input;
  };
  /** What names a key or a subscription in the path; not the key itself, which would be said again. */
  const nameIn = async (ctx: Context): Promise<string> => {
    const { id = '' } = (ctx as Context & { readonly params: Readonly<Record<string, string>> }).params;
    if (id.startsWith(API_KEY_PREFIX) || (await apiKeys.isKey(id)))
      throw new HttpError(
        'ValidationError',
        422,
        'this is an API key, not the key_id that names it: it stood in a URL, so revoke it',
      );
    return id;
  };
  router.post('/api/keys', async (ctx) => {
    const { apiKey, record } = await apiKeys.create((await inputOf(ctx)) as NewKeyInput);
    ctx.status = 201;
    ctx.set('cache-control', 'no-store');
    ctx.body = { api_key: apiKey, ...apiKeyInfo(record) };
  });
  router.get('/api/keys', async (ctx) => {
    const { page, perPage: limit } = pageOf(ctx);
    const found = await apiKeys.list(queryValue(ctx, 'user_id') ?? null, { limit, offset: (page - 1) * limit });
    ctx.body = { keys: found.map(apiKeyInfo) };
  });
  router.get('/api/keys/:id', async (ctx) => {
    ctx.body = apiKeyInfo(await apiKeys.get(await nameIn(ctx)));
  });
  router.put('/api/keys/:id', async (ctx) => {
    ctx.body = apiKeyInfo(await apiKeys.update(await nameIn(ctx), (await inputOf(ctx)) as KeyChangesInput));
  });
  router.delete('/api/keys/:id', async (ctx) => {
    const keyId = await nameIn(ctx);
    await apiKeys.revoke(keyId);
    ctx.body = { key_id: keyId };
  });
  router.put('/api/subscriptions/:id', async (ctx) => {
    const id = await nameIn(ctx);
    const { is_active: isActive } = parseInput(Subscription, await inputOf(ctx));
    ctx.body = { subscription_id: id, is_active: isActive, keys: await apiKeys.setSubscription(id, isActive) };
  });
}
