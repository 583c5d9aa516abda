import type { Context } from 'koa';
import type { ServedEndpoint } from '../../../endpoints/registry/index.ts';
import { methodOf } from '../../../endpoints/registry/index.ts';
import { asksForSocket } from './socket-request.ts';

/** Methods that a browser sends for links and images. */
export const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether a request runs the endpoint at its path. */
export function runs({ method }: Context, endpoint: ServedEndpoint): boolean {
  return methodOf(endpoint) === 'GET' ? READING.has(method) : method === 'POST';
}

/** Notes whether a request runs an endpoint, before its guards: they treat one with GET as one with POST. */
export function noteEndpoint(ctx: Context, endpoint: ServedEndpoint | undefined): void {
  ctx.state['runsEndpoint'] = endpoint !== undefined && runs(ctx, endpoint);
}

/** Whether a request runs an endpoint. */
export const runsEndpoint = (ctx: Context): boolean => ctx.state['runsEndpoint'] === true;

/** Whether a request only reads what is there: it computes nothing and stores nothing. */
export function isReading(ctx: Context): boolean {
  return READING.has(ctx.method) && !asksForSocket(ctx) && !runsEndpoint(ctx);
}
