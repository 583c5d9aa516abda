import type { Context } from 'koa';
import type { UsageOutcome } from '../../../base/core/usage/usage-meter.ts';
import type { RequestMeter } from '../../../data/usage/index.ts';

const METER: unique symbol = Symbol('meter of the request');
const KEPT: unique symbol = Symbol('the meter is ended by somebody else');

/** Sets the meter of a request. */
export function meterRequest(ctx: Context, meter: RequestMeter | undefined): void {
  stateOf(ctx)[METER] = meter;
}

/** Returns the meter of a request, for its work; undefined where usage is not recorded. */
export function meterOf(ctx: Context): RequestMeter | undefined {
  return stateOf(ctx)[METER];
}

/**
 * Returns the meter of a request whose work goes on after its answer, as that of a WebSocket does. The caller ends it.
 */
export function keepMeter(ctx: Context): RequestMeter | undefined {
  stateOf(ctx)[KEPT] = true;
  return meterOf(ctx);
}

/** Returns the meter that the end of the request ends. */
export function meterToEnd(ctx: Context): RequestMeter | undefined {
  return stateOf(ctx)[KEPT] === true ? undefined : meterOf(ctx);
}

/** Returns how a request ended that has this status, and whose stream failed or not. */
export function usageOutcome(status: number, hasStreamFailed: boolean): UsageOutcome {
  if (hasStreamFailed || status >= 500) return 'failed';
  if (status === 499) return 'cancelled';
  return status >= 400 ? 'refused' : 'ok';
}

function stateOf(ctx: Context): { [METER]?: RequestMeter | undefined; [KEPT]?: boolean } {
  return ctx.state;
}
