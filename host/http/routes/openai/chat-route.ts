import type { Router } from '@koa/router';
import { drained } from '../../../core/async/async-values.ts';
import {
  chatArguments,
  ChatChunks,
  CHAT_FIELDS,
  chatCompletion,
  newHead,
  resolveModel,
} from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import type { ChatOutputWithDetails, GenerationDetails, TextChunk } from '../../../schemas/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { serveRoute } from '../serve-route.ts';
import { sendEvents } from './event-stream.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from './openai-request.ts';

/** Adds `POST /v1/chat/completions`. */
export function chatRoute(router: Router, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  serveRoute(router, OPENAI_ROUTES.chat, async ({ ctx }) => {
    const models = allowedModels(ctx, openai.models);
    const request = await readJsonRequest(ctx, CHAT_FIELDS, options);
    const resolved = resolveModel(models, request.model, 'chat');
    const { name } = resolved.model;
    const args = chatArguments(request, resolved);
    const prefix = typeof args['assistant_prefix'] === 'string' ? args['assistant_prefix'] : '';
    const head = newHead('chatcmpl-', request.model);
    return withinTime(ctx, options, async (context) => {
      if (request.stream !== true) {
        const output = await models.call(name, 'chat', { ...args, details: true }, context);
        return chatCompletion(head, output as ChatOutputWithDetails, prefix);
      }
      const chunks = new ChatChunks({
        head,
        prefix,
        count: request.n ?? 1,
        includeUsage: request.stream_options?.include_usage === true,
      });
      const keepAliveMs = limits.stream_keep_alive_s * 1000;
      await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, async (send) => {
        const values = models.stream(name, 'chat_stream', args, context) as AsyncIterable<
          TextChunk[],
          GenerationDetails | undefined
        >;
        const details = await drained(values, (batch) => send(batch.flatMap((chunk) => chunks.of(chunk))));
        await send(chunks.end(details));
      });
      return undefined;
    });
  });
}
