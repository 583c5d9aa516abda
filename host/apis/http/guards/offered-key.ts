import type { Context } from 'koa';
import { offeredKey } from '../request/socket-request.ts';

/**
 * Returns the API key of a request: `x-api-key`, else the bearer of `Authorization`, else the one among the
 * subprotocols of a WebSocket, because a page can set no other header there.
 */
export function keyIn(ctx: Context): string | undefined {
  const key = ctx.get('x-api-key').trim();
  if (key !== '') return key;
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization'))?.[1] ?? offeredKey(ctx);
}
