import type { Context } from 'koa';
import { type LimitedCaller, clientNetwork, type UserLimits } from '../../../data/access/index.ts';
import { meterOf } from '../request/request-meter.ts';
import { type ForeignApis, setLimitHeaders } from '../response/foreign-api.ts';
import { runsEndpoint } from '../request/reading.ts';
import { ownerOf } from './caller.ts';
import { isPreflight } from './cors.ts';
import type { Guard } from './guards.ts';
import { isDocumentationPath, isOpenPath } from './open-paths.ts';

/** Methods of requests that only read. They do not count as requests that are being answered. */
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses a request over a limit of its user before its body is read, and tells its work what it may use. */
export function userLimitGuard(limits: UserLimits, apis: ForeignApis): Guard {
  const limit = async (ctx: Context, next: () => Promise<void>): Promise<void> => {
    const { userId, keyId } = ownerOf(ctx);
    const caller: LimitedCaller = { userId, keyId, client: clientNetwork(ctx.ip) };
    if (!READING.has(ctx.method) || runsEndpoint(ctx)) ctx.res.once('close', limits.begin(caller));
    const allowance = await limits.of(caller);
    meterOf(ctx)?.limit(allowance);
    const left = limits.tokensLeft(caller);
    if (left) setLimitHeaders(ctx, apis, { ...left, of: 'tokens', resetS: Math.ceil(left.resetS) });
    return next();
  };
  return (ctx, next) => {
    const isFree = !limits.isAny || isOpenPath(ctx.path) || isDocumentationPath(ctx.path) || isPreflight(ctx);
    return isFree ? next() : limit(ctx, next);
  };
}
