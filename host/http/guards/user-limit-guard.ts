import type { Context } from 'koa';
import { type LimitedCaller, networkOf, type UserLimits } from '../../access/index.ts';
import { meterOf } from '../request/request-meter.ts';
import { isAnthropicRequest } from '../routes/anthropic/anthropic-requests.ts';
import { isOpenAiPath } from '../routes/openai/openai-paths.ts';
import { callerOf } from './caller.ts';
import { isPreflight } from './cors.ts';
import type { Guard } from './guards.ts';
import { isDocumentationPath, isOpenPath } from './open-paths.ts';
import { timeIn } from './rate-limit-guard.ts';

/** Methods of requests that only read. They do not count as requests that are being answered. */
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses a request over a limit of its user before its body is read, and tells its work what it may use. */
export function userLimitGuard(limits: UserLimits): Guard {
  return async (ctx, next) => {
    if (!limits.isAny || isOpenPath(ctx.path) || isDocumentationPath(ctx.path) || isPreflight(ctx)) return next();
    const { userId, keyId } = callerOf(ctx);
    const caller: LimitedCaller = { userId, keyId, client: networkOf(ctx.ip) };
    if (!READING.has(ctx.method)) ctx.res.once('close', limits.begin(caller));
    const allowance = await limits.of(caller);
    meterOf(ctx)?.limit(allowance);
    setHeaders(ctx, limits, caller);
    return next();
  };
}

/** Sets the headers of the API that the request is for, with what is left of the tokens of a minute. */
function setHeaders(ctx: Context, limits: UserLimits, caller: LimitedCaller): void {
  const left = limits.tokensLeft(caller);
  if (!left) return;
  const resetS = Math.ceil(left.resetS);
  if (isOpenAiPath(ctx.path)) {
    ctx.set('x-ratelimit-limit-tokens', String(left.limit));
    ctx.set('x-ratelimit-remaining-tokens', String(left.remaining));
    ctx.set('x-ratelimit-reset-tokens', `${resetS}s`);
  }
  if (isAnthropicRequest(ctx)) {
    ctx.set('anthropic-ratelimit-tokens-limit', String(left.limit));
    ctx.set('anthropic-ratelimit-tokens-remaining', String(left.remaining));
    ctx.set('anthropic-ratelimit-tokens-reset', timeIn(resetS));
  }
}
