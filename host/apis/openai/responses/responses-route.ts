import type { Context } from 'koa';
import { answers, RUN_FAILURES } from '../../openapi/index.ts';
import { allowedDeployments } from '../../../data/access/index.ts';
import { answerOf } from '../model-call.ts';
import {
  answerResponse,
  type Dialogs,
  readItems,
  responseRun,
  type ResponseRun,
  responseWish,
} from './response-run.ts';
import { writeAnswer } from './file-search/answer-rounds.ts';
import { audioOfInput, withAudioParts } from '../audio/audio-input.ts';
import { filesOfInput } from '../files/file-input.ts';
import { INPUT_TOKENS_FIELDS, InputTokensRequest, RESPONSE_FIELDS, ResponseRequest } from './response-fields.ts';
import { InputTokens, ModelResponse } from './response-answer.ts';
import { inputTokensCall } from './response-call.ts';
import { resolveModel } from '../models/model-names.ts';
import { hears, routed, withModel } from '../models/model-route.ts';
import { ResponseEvent } from './response-event.ts';
import { ResponseWriter } from './response-writer.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { sendStoredEvents } from './background/background-events.ts';
import { EVENT_KEEP_ALIVE } from '../../http/response/server-sent-events.ts';
import { hear } from '../audio/hear.ts';
import { type EventFormat, namedEvent, sendEvents } from '../http/event-stream.ts';
import { readFiles } from '../files/read-files.ts';
import { mediaOpener } from '../media/media-input.ts';
import { MediaParts } from '../media/media-part.ts';
import { largeMedia } from '../http/large-parts.ts';
import { searchScopeOf } from '../vector-stores/store-routes.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

const PATH = '/v1/responses';

/** Adds `POST /v1/responses` and `POST /v1/responses/input_tokens`. */
export function responsesRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  const openMedia = mediaOpener(options);
  const dialogsOf = (ctx: Context): Dialogs => ({
    store: openai.responses.as(callerOf(ctx)),
    // What a request may have, those that it continues may have.
    maxBytes: limits.max_json_bytes + largeMedia(openai.models, options).bytes,
    search: searchScopeOf(ctx, options),
    openMedia,
  });

  serveRoute(
    router,
    {
      id: 'create_response',
      at: `post ${PATH}`,
      summary: 'Answers a dialog whose earlier turns may be stored, as in OpenAI’s API',
      body: ResponseRequest,
      idle: RESPONSE_FIELDS.idle,
      answers: { 200: { description: 'The response.', schema: ModelResponse, events: ResponseEvent } },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const given = await readJsonRequest(ctx, RESPONSE_FIELDS, options, largeMedia(models, options));
      const { dialog: withoutFiles, files } = filesOfInput(given.input);
      const withAudio = withAudioParts(withoutFiles);
      const messages =
        typeof withAudio === 'string' ? [] : withAudio.flatMap((item) => (item.type === 'message' ? [item] : []));
      const isHeard = hears(models, { name: given.model, capability: 'chat', dialog: messages });
      const { dialog, audio } = isHeard ? { dialog: withAudio, audio: [] } : audioOfInput(withoutFiles);
      const request = { ...given, input: dialog };
      await readFiles(ctx, files, options);
      const dialogs = dialogsOf(ctx);
      return withinTime(ctx, options, async (context) => {
        const run = (): ReturnType<typeof responseRun> => responseRun(models, request, dialogs, context);
        const listen = (): Promise<void> => hear(ctx, { audio, check: run }, options, context);
        if (request.background === true) {
          await listen();
          return makeInBackground(ctx, request, await run(), options);
        }
        if (request.stream !== true) {
          await listen();
          return answerResponse(models, request, dialogs, context);
        }
        const unheard = await run();
        const writer = new ResponseWriter(unheard.begun);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        const format = eventsOf(writer);
        const opening = { afterMs: openai.createdAfterS * 1000, events: () => writer.begin() };
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, opening, log, format }, async (send) => {
          await listen();
          const { route, callOf, input, search } = audio.length === 0 ? unheard : await run();
          const details = await routed(route, context, async (resolved, tried) => {
            const { media, ...turns } = callOf(resolved);
            await using _opened = await openMedia(media, tried);
            return await writeAnswer(models, turns, search, writer, tried, send);
          });
          await send(writer.close(details));
          context.signal.throwIfAborted();
          // Before the client can continue it.
          if (writer.response.store) await dialogs.store.save(writer.response, input);
          await send(writer.end());
        });
        return undefined;
      });
    },
  );

  serveRoute(
    router,
    {
      id: 'count_input_tokens',
      at: 'post /v1/responses/input_tokens',
      summary: 'The number of tokens of the dialog of a response',
      body: InputTokensRequest,
      idle: INPUT_TOKENS_FIELDS.idle,
      answers: answers('The number.', InputTokens),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const given = await readJsonRequest(ctx, INPUT_TOKENS_FIELDS, options, largeMedia(models, options));
      const { dialog, files } = filesOfInput(given.input);
      const request = { ...given, input: dialog };
      await readFiles(ctx, files, options);
      resolveModel(models, request.model, 'tokenize'); // a wrong name is told before a wrong dialog
      const items = await readItems(request, dialogsOf(ctx));
      const wish = responseWish(request, items, 'tokenize');
      const output = await withinTime(ctx, options, (context) =>
        withModel(models, wish, context, async (resolved, tried) => {
          const media = new MediaParts(resolved.model);
          const call = inputTokensCall(request, items, resolved, media);
          await using _opened = await openMedia(media.parts, tried);
          return await answerOf(models, call, 'count_tokens', tried);
        }),
      );
      return {
        object: 'response.input_tokens' as const,
        input_tokens: (output as { readonly tokens: number }).tokens,
      };
    },
  );
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

/** Stores a response that a task makes. Returns it, or sends its events. */
async function makeInBackground(
  ctx: Context,
  request: ResponseRequest,
  { begun: response, input }: ResponseRun,
  options: OpenAiHttpOptions,
): Promise<ModelResponse | undefined> {
  const caller = callerOf(ctx);
  const isStreamed = request.stream === true;
  await options.openai.background.as(caller).create({
    ...{ response, input, request, isStreamed },
    deployments: allowedDeployments(caller.scopes, PATH),
  });
  if (!isStreamed) return response;
  await sendStoredEvents(ctx, response.id, undefined, options);
  return undefined;
}
