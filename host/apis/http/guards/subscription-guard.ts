import type { Context } from 'koa';
import type { Guard } from './guards.ts';
import { runsEndpoint } from '../request/reading.ts';
import { asksForSocket } from '../request/socket-request.ts';
import { callerOf } from './caller.ts';
import { subscriptionNeeded } from './run-rights.ts';

/** Refuses requests that compute or store something at these paths from users without an active subscription. */
export function subscriptionGuard(needsSubscription: (path: string) => boolean): Guard {
  return async (ctx, next) => {
    const { keyId, hasSubscription } = callerOf(ctx);
    if (keyId !== null && !hasSubscription && computesOrStores(ctx) && needsSubscription(ctx.path))
      throw subscriptionNeeded(ctx.path);
    return next();
  };
}

/** Users without a subscription can still read and remove what is stored. */
function computesOrStores(ctx: Context): boolean {
  return ctx.method === 'POST' || asksForSocket(ctx) || runsEndpoint(ctx);
}
