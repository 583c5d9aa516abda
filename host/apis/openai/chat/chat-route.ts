import { RUN_FAILURES } from '../../openapi/index.ts';
import { drained } from '../../../base/core/async/async-values.ts';
import { answerChat, chatRun, chatWish } from './chat-run.ts';
import { audioOfMessages, hasAudio } from '../audio/audio-input.ts';
import { CHAT_FIELDS, ChatRequest } from './chat-fields.ts';
import { ChatChunks, ChatCompletionChunk } from './chat-chunks.ts';
import { ChatCompletion } from './chat-answer.ts';
import { filesOfMessages } from '../files/file-input.ts';
import { piecesOf } from '../model-call.ts';
import { hears, routeOf, withModel } from '../models/model-route.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { hear } from '../audio/hear.ts';
import { sendEvents } from '../http/event-stream.ts';
import { readFiles } from '../files/read-files.ts';
import { mediaOpener } from '../media/media-input.ts';
import { largeMedia } from '../http/large-parts.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

/** Adds `POST /v1/chat/completions`. */
export function chatRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  const openMedia = mediaOpener(options);
  serveRoute(
    router,
    {
      id: 'create_chat_completion',
      at: 'post /v1/chat/completions',
      summary: 'Answers a dialog, as in OpenAI’s API',
      body: ChatRequest,
      idle: CHAT_FIELDS.idle,
      answers: {
        200: { description: 'The answer.', schema: ChatCompletion, events: ChatCompletionChunk },
      },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const given = await readJsonRequest(ctx, CHAT_FIELDS, options, largeMedia(models, options));
      const { dialog, files } = filesOfMessages(given.messages);
      const isHeard = hasAudio(dialog) && hears(models, chatWish({ ...given, messages: dialog }));
      const { dialog: messages, audio } = isHeard ? { dialog, audio: [] } : audioOfMessages(dialog);
      const request = { ...given, messages };
      await readFiles(ctx, files, options);
      return withinTime(ctx, options, async (context) => {
        const check = (): unknown => chatRun(routeOf(models, chatWish(request), context).chosen, request);
        const listen = (): Promise<void> => hear(ctx, { audio, check }, options, context);
        if (request.stream !== true) {
          await listen();
          return answerChat(models, request, context, openMedia);
        }
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, async (send) => {
          await listen();
          await withModel(models, chatWish(request), context, async (resolved, tried) => {
            const { call, media, prefix, customNames, head } = chatRun(resolved, request);
            await using _opened = await openMedia(media, tried);
            const chunks = new ChatChunks({
              head,
              prefix,
              customNames,
              count: request.n ?? 1,
              includeUsage: request.stream_options?.include_usage === true,
            });
            const values = piecesOf(models, call, 'chat_stream', tried);
            const details = await drained(values, (batch) => send(batch.flatMap((chunk) => chunks.of(chunk))));
            await send(chunks.end(details));
          });
        });
        return undefined;
      });
    },
  );
}
