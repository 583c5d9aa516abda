import * as z from 'zod';
import { whole } from '../../../../base/core/fields.ts';
import { afterId, orderOf } from '../../list-page.ts';
import type { Context } from 'koa';
import { answers, DATABASE_FAILURES, type IdleField } from '../../../openapi/index.ts';
import { DeletedResponse, ItemList, ModelResponse } from '../response-answer.ts';
import { invalidValue } from '../../fields.ts';
import { itemPage } from './item-page.ts';
import { requireResponse } from './response-chain.ts';
import type { UserResponses } from './stored-responses.ts';
import { ResponseEvent } from '../response-event.ts';
import { callerOf } from '../../../http/guards/caller.ts';
import { type HostRouter, serveRoute } from '../../../http/routes/serve-route.ts';
import { sendStoredEvents } from '../background/background-events.ts';
import type { OpenAiHttpOptions } from '../../http/openai-request.ts';

/** The query of `GET /v1/responses/{response_id}`. */
const ResponseQuery = z.object({
  stream: z
    .boolean()
    .optional()
    .describe('Sends the events of a response that was created with `background` and `stream`.'),
  starting_after: z
    .int()
    .min(0)
    .optional()
    .describe('With `stream`: the `sequence_number` of the event before the first one. Default: all events.'),
});

/** The query of `GET /v1/responses/{response_id}/input_items`. */
const InputItemsQuery = z.object({
  after: afterId('item'),
  limit: whole({ min: 1, max: 100, default: 20 }, 'Items of a page: 1 to 100. Default: 20.'),
  order: orderOf('item'),
});

const INCLUDE: IdleField = { why: 'items are told with all their parts', isHarmless: true };

/** Adds the routes that read, end and remove a stored response of the caller. */
export function storedResponsesRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const storeOf = (ctx: Context): UserResponses => openai.responses.as(callerOf(ctx));

  serveRoute(
    router,
    {
      id: 'retrieve_response',
      at: 'get /v1/responses/{response_id}',
      summary: 'A stored response',
      query: ResponseQuery,
      idle: { include: INCLUDE, include_obfuscation: { why: 'events have no padding', isHarmless: true } },
      answers: { 200: { description: 'The response.', schema: ModelResponse, events: ResponseEvent } },
      fails: [400, 401, 403, 404, ...DATABASE_FAILURES],
    },
    async ({ ctx, params, query }) => {
      const { stream = false, starting_after: after } = query;
      if (!stream && after !== undefined) throw invalidValue('starting_after', 'it needs stream');
      const response = await requireResponse(params.response_id, (id) => storeOf(ctx).find(id));
      if (!stream) return response;
      await sendStoredEvents(ctx, response.id, after, options);
      return undefined;
    },
  );
  serveRoute(
    router,
    {
      id: 'cancel_response',
      at: 'post /v1/responses/{response_id}/cancel',
      summary: 'Ends a response that is made in the background',
      answers: answers('The response, which has ended.', ModelResponse),
      fails: [400, 401, 403, 404, ...DATABASE_FAILURES],
    },
    ({ ctx, params }) => requireResponse(params.response_id, (id) => openai.background.as(callerOf(ctx)).cancel(id)),
  );
  serveRoute(
    router,
    {
      id: 'delete_response',
      at: 'delete /v1/responses/{response_id}',
      summary: 'Removes a stored response with its items',
      answers: answers('The response is removed.', DeletedResponse),
      fails: [401, 403, 404, ...DATABASE_FAILURES],
    },
    async ({ ctx, params: { response_id: id } }) => {
      await requireResponse(id, () => storeOf(ctx).delete(id));
      return { id, object: 'response' as const, deleted: true as const };
    },
  );
  serveRoute(
    router,
    {
      id: 'list_input_items',
      at: 'get /v1/responses/{response_id}/input_items',
      summary: 'The items that a stored response was given',
      query: InputItemsQuery,
      idle: { include: INCLUDE },
      answers: answers('A page of items.', ItemList),
      fails: [400, 401, 403, 404, ...DATABASE_FAILURES],
    },
    async ({ ctx, params, query: { after, limit, order = 'desc' } }) => {
      const items = await requireResponse(params.response_id, (id) => storeOf(ctx).findInput(id));
      return itemPage(items, { after, limit, order });
    },
  );
}
