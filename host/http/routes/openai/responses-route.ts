import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { drained } from '../../../core/async/async-values.ts';
import {
  blaming,
  INPUT_TOKENS_FIELDS,
  type InputTokensRequest,
  inputTokensArguments,
  type Item,
  newResponse,
  readHistory,
  readInput,
  resolveModel,
  RESPONSE_BLAME,
  RESPONSE_FIELDS,
  responseArguments,
  type ResponseStore,
  ResponseWriter,
  type TokenizeOutput,
  wholeResponse,
} from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import type { ChatOutputWithDetails, GenerationDetails, TextChunk } from '../../../schemas/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { callerOf } from '../../guards/caller.ts';
import { serveRoute } from '../serve-route.ts';
import { EVENT_KEEP_ALIVE } from '../../response/server-sent-events.ts';
import { type EventFormat, namedEvent, sendEvents } from './event-stream.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from './openai-request.ts';

/** Adds `POST /v1/responses` and `POST /v1/responses/input_tokens`. */
export function responsesRoute(router: Router, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  const storeOf = (ctx: Context): ResponseStore => openai.responsesOf(callerOf(ctx).userId);

  /** Returns the items that a request gives, and those of the responses that it continues. */
  const readItems = async (
    { input, previous_response_id: previous }: Pick<InputTokensRequest, 'input' | 'previous_response_id'>,
    store: ResponseStore,
  ): Promise<{ readonly input: readonly Item[]; readonly history: readonly Item[] }> => ({
    history: previous == null ? [] : await readHistory(store, previous, limits.max_json_bytes),
    input: await readInput(input, (id) => store.findItem(id)),
  });

  serveRoute(router, OPENAI_ROUTES.createResponse, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const request = await readJsonRequest(ctx, RESPONSE_FIELDS, options);
    const resolved = resolveModel(models, request.model, 'chat');
    const { name } = resolved.model;
    const store = storeOf(ctx);
    const { input, history } = await readItems(request, store);
    const args = responseArguments(request, [...history, ...input], resolved);
    const begun = newResponse(request, store.isStoring);
    return withinTime(ctx, options, (context) =>
      blaming(RESPONSE_BLAME, async () => {
        if (request.stream !== true) {
          const output = await models.call(name, 'chat', { ...args, details: true }, context);
          const response = wholeResponse(begun, output as ChatOutputWithDetails);
          if (response.store) await store.save(response, input);
          return response;
        }
        const writer = new ResponseWriter(begun);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        const format = eventsOf(writer);
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, log, format }, async (send) => {
          const values = models.stream(name, 'chat_stream', args, context) as AsyncIterable<
            TextChunk[],
            GenerationDetails | undefined
          >;
          const details = await drained(values, (batch) => send(batch.flatMap((chunk) => writer.of(chunk))));
          await send(writer.close(details));
          context.signal.throwIfAborted();
          if (writer.response.store) await store.save(writer.response, input); // before the client can continue it
          await send(writer.end());
        });
        return undefined;
      }),
    );
  });

  serveRoute(router, OPENAI_ROUTES.inputTokens, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const request = await readJsonRequest(ctx, INPUT_TOKENS_FIELDS, options);
    const resolved = resolveModel(models, request.model, 'tokenize');
    const { input, history } = await readItems(request, storeOf(ctx));
    const args = inputTokensArguments(request, [...history, ...input], resolved);
    const output = await withinTime(ctx, options, (context) =>
      models.call(resolved.model.name, 'tokenize', args, context),
    );
    return { object: 'response.input_tokens' as const, input_tokens: (output as TokenizeOutput).tokens.length };
  });
}

/** Events of responses have names, an error is an event of the response, and nothing follows the last event. */
function eventsOf(writer: ResponseWriter): EventFormat {
  return {
    keepAlive: EVENT_KEEP_ALIVE,
    eventOf: namedEvent,
    errorsOf: (error) => writer.fail(error),
    end: '',
  };
}
