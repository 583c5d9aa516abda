import type { Context } from 'koa';
import { type ClientSecret, type ClientSecrets, CLIENT_SECRET_PREFIX, keyRefused } from '../../../data/access/index.ts';
import { keyIn } from './offered-key.ts';
import type { Guard } from './guards.ts';

/** The only path that a client secret opens. */
export const CLIENT_SECRET_PATH = '/v1/realtime';

/** Reads the client secret of a request and stores it in the context. */
export function clientSecretGuard(secrets: ClientSecrets, hasApiKeys: boolean): Guard {
  const open = async (ctx: Context, key: string, next: () => Promise<void>): Promise<void> => {
    const secret = await secrets.open(key);
    if (secret) ctx.state['clientSecret'] = secret;
    // It may be an API key that was made elsewhere.
    else if (!hasApiKeys && ctx.path === CLIENT_SECRET_PATH)
      throw keyRefused('ApiKeyNotFound', 'the client secret is unknown');
    return next();
  };
  return (ctx, next) => {
    const key = keyIn(ctx);
    return key?.startsWith(CLIENT_SECRET_PREFIX) ? open(ctx, key, next) : next();
  };
}

export function clientSecretOf(ctx: Context): ClientSecret | undefined {
  return ctx.state['clientSecret'] as ClientSecret | undefined;
}
