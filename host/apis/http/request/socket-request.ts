import type { Context } from 'koa';

/** Whether a request asks for a WebSocket. */
export function asksForSocket(ctx: Context): boolean {
  return ctx.get('upgrade').toLowerCase() === 'websocket';
}

/** Beginnings of a subprotocol that is not one, but has an API key: ours, and that of OpenAI's clients in pages. */
const KEY_PREFIXES = ['aana-api-key.', 'openai-insecure-api-key.'];

/** Returns the API key among the subprotocols that a client offers for a WebSocket. */
export function offeredKey(ctx: Context): string | undefined {
  if (!asksForSocket(ctx)) return undefined;
  const offered = ctx.get('sec-websocket-protocol').split(',');
  return offered.map((name) => keyOf(name.trim())).find((key) => key !== undefined);
}

function keyOf(name: string): string | undefined {
  const prefix = KEY_PREFIXES.find((one) => name.startsWith(one));
  return prefix && name.slice(prefix.length);
}
