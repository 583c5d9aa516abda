import { answers, RUN_FAILURES } from '../../../openapi/index.ts';
import {
  answerMessage,
  anthropicError,
  COUNT_TOKENS_FIELDS,
  countCall,
  CountTokensRequest,
  Message,
  MessageEvent,
  MessageEvents,
  messageRun,
  MESSAGES_FIELDS,
  MessagesRequest,
  promptRequest,
  TokenCount,
} from '../../../anthropic/index.ts';
import { drained } from '../../../core/async/async-values.ts';
import { answerOf, chatCall, ImageParts, piecesOf, resolveModel, unsupported } from '../../../openai/index.ts';
import { anthropicStatusOf } from './anthropic-api.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { type EventFormat, namedEvent, sendEvents } from '../openai/event-stream.ts';
import { readFiles } from '../openai/files/file-input.ts';
import { imageOpener } from '../openai/images/image-input.ts';
import { largeImages } from '../openai/large-parts.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../openai/openai-request.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

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
  const openImages = imageOpener(options);
  serveRoute(
    router,
    {
      id: 'create_message',
      method: 'post',
      path: '/v1/messages',
      summary: 'Answers a dialog, as in Anthropic’s API',
      tag: 'anthropic',
      body: MessagesRequest,
      idle: MESSAGES_FIELDS.idle,
      answers: { 200: { description: 'The answer.', schema: Message, events: MessageEvent } },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const request = await readJsonRequest(ctx, MESSAGES_FIELDS, options, largeImages(models, options));
      const run = await messageRun(models, request, (files) => readFiles(ctx, files, options));
      return withinTime(ctx, options, async (context) => {
        if (request.stream !== true) return answerMessage(models, run, context, openImages);
        const { streamCall, images, answer } = run;
        const events = new MessageEvents(answer);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, format: MESSAGE_EVENTS, log }, async (send) => {
          await using _opened = await openImages(images, context);
          const values = piecesOf(models, streamCall, 'chat_stream', context);
          const details = await drained(values, (batch) => send(batch.flatMap((chunk) => events.of(chunk))));
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
      method: 'post',
      path: '/v1/messages/count_tokens',
      summary: 'Counts the tokens of the prompt of a dialog, as in Anthropic’s API',
      tag: 'anthropic',
      body: CountTokensRequest,
      idle: COUNT_TOKENS_FIELDS.idle,
      answers: answers('The count.', TokenCount),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const request = await readJsonRequest(ctx, COUNT_TOKENS_FIELDS, options, largeImages(models, options));
      const resolved = resolveModel(models, request.model, 'chat');
      const { name, methods } = resolved.model;
      if (!methods.has('count_tokens')) throw unsupported('model', `the deployment ${name} does not count tokens`);
      const images = new ImageParts(resolved.model);
      const { request: chat, files } = promptRequest(request);
      await readFiles(ctx, files, options);
      const call = countCall(chatCall(chat, resolved, images));
      const output = await withinTime(ctx, options, async (context) => {
        await using _opened = await openImages(images.parts, context);
        return await answerOf(models, call, 'count_tokens', context);
      });
      return { input_tokens: (output as { readonly tokens: number }).tokens };
    },
  );
}
