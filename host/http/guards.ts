import type { Context } from 'koa';
import type { HttpAppOptions } from './options.ts';

/** What a request passes on its way in: it throws to refuse, and calls `next` once otherwise. */
export type Guard = (ctx: Context, next: () => Promise<void>) => Promise<void>;

/** The guards of an application, the first one outermost. */
export function guardsOf(_options: HttpAppOptions): readonly Guard[] {
  return [securityHeaders];
}

/** Leads a request through all guards to `last`. */
export function passGuards(guards: readonly Guard[], ctx: Context, last: () => Promise<void>): Promise<void> {
  const [guard, ...rest] = guards;
  return guard ? guard(ctx, () => passGuards(rest, ctx, last)) : last();
}

const securityHeaders: Guard = (ctx, next) => {
  ctx.set('x-content-type-options', 'nosniff');
  return next();
};
