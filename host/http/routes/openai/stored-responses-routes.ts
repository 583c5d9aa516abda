import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { itemPage, requireResponse, type ResponseStore, unsupported } from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { serveRoute } from '../serve-route.ts';
import type { OpenAiHttpOptions } from './openai-request.ts';

/** Adds the routes that read and remove a stored response of the caller. */
export function storedResponsesRoutes(router: Router, { openai }: OpenAiHttpOptions): void {
  const storeOf = (ctx: Context): ResponseStore => openai.responsesOf(callerOf(ctx).userId);

  serveRoute(router, OPENAI_ROUTES.getResponse, ({ ctx, params, query }) => {
    if (query.stream === true) throw unsupported('stream', 'only a response that is made in the background has one');
    return requireResponse(params.response_id, (id) => storeOf(ctx).find(id));
  });
  serveRoute(router, OPENAI_ROUTES.deleteResponse, async ({ ctx, params: { response_id: id } }) => {
    await requireResponse(id, () => storeOf(ctx).delete(id));
    return { id, object: 'response' as const, deleted: true as const };
  });
  serveRoute(router, OPENAI_ROUTES.inputItems, async ({ ctx, params, query: { after, limit, order = 'desc' } }) => {
    const items = await requireResponse(params.response_id, (id) => storeOf(ctx).findInput(id));
    return itemPage(items, { after, limit, order });
  });
}
