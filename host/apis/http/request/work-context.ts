import type { Context } from 'koa';
import { clientNetwork } from '../../../data/access/index.ts';
import type { Caller, RequestContext } from '../../../base/core/request-context.ts';
import { ownerOf } from '../guards/caller.ts';
import { traceparentOf } from './request-context.ts';
import { meterOf } from './request-meter.ts';

/** Returns the facts about a request that travel with its work. */
export function workContextOf(ctx: Context): RequestContext & Caller & { readonly requestId: string } {
  return {
    requestId: String(ctx.state['requestId']),
    userId: ownerOf(ctx).userId,
    client: clientNetwork(ctx.ip),
    traceparent: traceparentOf(ctx),
    meter: meterOf(ctx),
  };
}
