import type { Context } from 'koa';

/** Whether a request asks for a WebSocket. */
export function asksForSocket(ctx: Context): boolean {
  return ctx.get('upgrade').toLowerCase() === 'websocket';
}

/** Begins a subprotocol that is not one, but has an API key. */
const KEY_PREFIX = 'aana-api-key.';

/** Returns the API key among the subprotocols that a client offers for a WebSocket. */
export function offeredKey(ctx: Context): string | undefined {
  if (!asksForSocket(ctx)) return undefined;
  const offered = ctx.get('sec-websocket-protocol').split(',');
  const found = offered.map((name) => name.trim()).find((name) => name.startsWith(KEY_PREFIX));
  return found?.slice(KEY_PREFIX.length);
}
