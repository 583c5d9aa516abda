import type { Context } from 'koa';
import { isOpenAiPath } from '../routes/openai/openai-paths.ts';
import { asksForSocket } from '../request/socket-request.ts';
import { callerOf } from './caller.ts';
import { subscriptionNeeded } from './run-rights.ts';

/** Refuses requests that compute or store something below `/v1` from users without an active subscription. */
export async function subscriptionGuard(ctx: Context, next: () => Promise<void>): Promise<void> {
  const { keyId, hasSubscription } = callerOf(ctx);
  if (keyId !== null && !hasSubscription && isPaid(ctx)) throw subscriptionNeeded(ctx.path);
  return next();
}

/** Users without a subscription can still read and remove what is stored. */
function isPaid(ctx: Context): boolean {
  const path = ctx.path.toLowerCase(); // routers ignore case
  return (ctx.method === 'POST' || asksForSocket(ctx)) && (isOpenAiPath(path) || /^\/chat\/completions\/?$/.test(path));
}
