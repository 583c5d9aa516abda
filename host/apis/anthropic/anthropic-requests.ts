import type { Context } from 'koa';

/** Whether a request is one of Anthropic's API, whose models have the paths of OpenAI's. */
export function isAnthropicRequest(ctx: Context): boolean {
  const { path } = ctx;
  return isAt('/v1/messages', path) || (isAt('/v1/models', path) && isFromAnthropicClient(ctx));
}

/** Whether a client of Anthropic's API sent a request. */
export const isFromAnthropicClient = (ctx: Context): boolean => ctx.get('anthropic-version') !== '';

const isAt = (root: string, path: string): boolean => path === root || path.startsWith(`${root}/`);
