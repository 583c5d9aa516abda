import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { invalidValue, itemPage, requireResponse, type ResponseStore } from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { serveRoute } from '../serve-route.ts';
import { sendStoredEvents } from './background-events.ts';
import type { OpenAiHttpOptions } from './openai-request.ts';

/** Adds the routes that read, end and remove a stored response of the caller. */
export function storedResponsesRoutes(router: Router, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const storeOf = (ctx: Context): ResponseStore => openai.responses.as(callerOf(ctx));

  serveRoute(router, OPENAI_ROUTES.getResponse, async ({ ctx, params, query }) => {
    const { stream = false, starting_after: after } = query;
    if (!stream && after !== undefined) throw invalidValue('starting_after', 'it needs stream');
    const response = await requireResponse(params.response_id, (id) => storeOf(ctx).find(id));
    if (!stream) return response;
    await sendStoredEvents(ctx, response.id, after, options);
    return undefined;
  });
  serveRoute(router, OPENAI_ROUTES.cancelResponse, ({ ctx, params }) =>
    requireResponse(params.response_id, (id) => openai.background.as(callerOf(ctx)).cancel(id)),
  );
  serveRoute(router, OPENAI_ROUTES.deleteResponse, async ({ ctx, params: { response_id: id } }) => {
    await requireResponse(id, () => storeOf(ctx).delete(id));
    return { id, object: 'response' as const, deleted: true as const };
  });
  serveRoute(router, OPENAI_ROUTES.inputItems, async ({ ctx, params, query: { after, limit, order = 'desc' } }) => {
    const items = await requireResponse(params.response_id, (id) => storeOf(ctx).findInput(id));
    return itemPage(items, { after, limit, order });
  });
}
