import type { Context } from 'koa';
import { clientNetwork } from '../../../data/access/index.ts';
import type { Caller, RequestContext } from '../../../base/core/request-context.ts';
import { callerOf } from '../guards/caller.ts';
import { meterOf } from './request-meter.ts';

/** Returns the facts about a request that travel with its work. */
export function workContextOf(ctx: Context): RequestContext & Caller & { readonly requestId: string } {
  const { userId, traceparent } = callerOf(ctx);
  return {
    requestId: String(ctx.state['requestId']),
    userId,
    client: clientNetwork(ctx.ip),
    traceparent,
    meter: meterOf(ctx),
  };
}
