import { answers, RUN_FAILURES } from '../../openapi/index.ts';
import { answerMessage, messageRun } from './message-run.ts';
import { anthropicError } from '../errors.ts';
import { COUNT_TOKENS_FIELDS, CountTokensRequest, MESSAGES_FIELDS, MessagesRequest } from './message-fields.ts';
import { countCall, promptRequest } from './chat-request.ts';
import { Message, TokenCount } from './message.ts';
import { MessageEvent, MessageEvents } from './message-events.ts';
import { drained } from '../../../base/core/async/async-values.ts';
import {
  answerOf,
  chatCall,
  type EventFormat,
  mediaOpener,
  MediaParts,
  largeImages,
  namedEvent,
  type OpenAiHttpOptions,
  piecesOf,
  readFiles,
  readJsonRequest,
  routed,
  routeOf,
  sendEvents,
  unsupported,
  withinTime,
} from '../../openai/index.ts';
import { anthropicStatusOf } from '../anthropic-api.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';

/** The events of Anthropic's API, whose names are their types. */
const MESSAGE_EVENTS: EventFormat = {
  keepAlive: namedEvent({ type: 'ping' }),
  eventOf: namedEvent,
  errorsOf: (thrown, requestId) => [anthropicError(thrown, anthropicStatusOf(thrown), requestId)],
  end: '',
};

/** Adds `POST /v1/messages` and `POST /v1/messages/count_tokens`. */
export function messageRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  const openMedia = mediaOpener(options);
  serveRoute(
    router,
    {
      id: 'create_message',
      at: 'post /v1/messages',
      summary: 'Answers a dialog, as in Anthropic’s API',
      body: MessagesRequest,
      idle: MESSAGES_FIELDS.idle,
      answers: { 200: { description: 'The answer.', schema: Message, events: MessageEvent } },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const request = await readJsonRequest(ctx, MESSAGES_FIELDS, options, largeImages(models, options));
      return withinTime(ctx, options, async (context) => {
        const run = await messageRun(models, request, context, (files) => readFiles(ctx, files, options));
        if (request.stream !== true) return answerMessage(models, run, context, openMedia);
        const { route, callOf, answer } = run;
        const events = new MessageEvents(answer);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, format: MESSAGE_EVENTS, log }, async (send) => {
          const details = await routed(route, context, async (resolved, tried) => {
            const { streamCall, media } = callOf(resolved);
            await using _opened = await openMedia(media, tried);
            const values = piecesOf(models, streamCall, 'chat_stream', tried);
            return await drained(values, (batch) => send(batch.flatMap((chunk) => events.of(chunk))));
          });
          await send(events.end(details));
        });
        return undefined;
      });
    },
  );
  serveRoute(
    router,
    {
      id: 'count_message_tokens',
      at: 'post /v1/messages/count_tokens',
      summary: 'Counts the tokens of the prompt of a dialog, as in Anthropic’s API',
      body: CountTokensRequest,
      idle: COUNT_TOKENS_FIELDS.idle,
      answers: answers('The count.', TokenCount),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const request = await readJsonRequest(ctx, COUNT_TOKENS_FIELDS, options, largeImages(models, options));
      const { request: chat, files } = promptRequest(request);
      const wish = { name: request.model, capability: 'chat', dialog: chat.messages } as const;
      const output = await withinTime(ctx, options, async (context) => {
        const route = routeOf(models, wish, context);
        await readFiles(ctx, files, options);
        return routed(route, context, async (resolved, tried) => {
          const { name, methods } = resolved.model;
          if (!methods.has('count_tokens')) throw unsupported('model', `the deployment ${name} does not count tokens`);
          const media = new MediaParts(resolved.model);
          const call = countCall(chatCall(chat, resolved, media));
          await using _opened = await openMedia(media.parts, tried);
          return await answerOf(models, call, 'count_tokens', tried);
        });
      });
      return { input_tokens: (output as { readonly tokens: number }).tokens };
    },
  );
}
