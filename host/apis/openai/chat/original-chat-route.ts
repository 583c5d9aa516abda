import { drained } from '../../../base/core/async/async-values.ts';
import { parseInput } from '../../../endpoints/registry/index.ts';
import { findModel } from '../models/model-names.ts';
import { withModel } from '../models/model-route.ts';
import { piecesOf } from '../model-call.ts';
import { chatWish } from './chat-run.ts';
import { newHead } from '../text/values.ts';
import {
  originalChatArguments,
  OriginalChatChunk,
  OriginalChatCompletion,
  OriginalChatRequest,
  OriginalNotFound,
} from './original-chat.ts';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { readBody } from '../../http/request/request-body.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { sendEvents } from '../http/event-stream.ts';
import { type OpenAiHttpOptions, withinTime } from '../http/openai-request.ts';

/** The content type of streams in the original. */
const STREAM_TYPE = 'application/json-seq';

/** Adds `POST /chat/completions` with the contract of the original system. */
export function originalChatRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, tempDir, log } = options;
  serveRoute(
    router,
    {
      id: 'chat_completions',
      at: 'post /chat/completions',
      summary: 'Answers a dialog with the contract of the original SDK',
      tag: 'app',
      body: OriginalChatRequest,
      answers: {
        200: { description: 'The answer.', schema: OriginalChatCompletion, events: OriginalChatChunk },
        404: { description: 'No such model.', schema: OriginalNotFound },
      },
      fails: [403, 429, 500, 503, 504],
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      await using body = await readBody(ctx, { ...limits, max_files: 0 }, tempDir);
      const request = parseInput(OriginalChatRequest, body.input);
      const found = findModel(models, request.model, 'chat');
      if (!found || !['chat', 'chat_stream'].every((method) => found.model.methods.has(method))) {
        ctx.status = 404;
        return { error: { message: `The model \`${request.model}\` does not exist.` } };
      }
      const wish = chatWish(request);
      const { id, created, model } = newHead('chatcmpl-', request.model);
      return withinTime(ctx, options, async (context) => {
        if (request.stream !== true) {
          const { message } = await withModel(models, wish, context, async (resolved, tried) => {
            const args = originalChatArguments(request, resolved);
            return (await models.call(resolved.model.name, 'chat', args, tried)) as ChatOutputWithDetails;
          });
          const { content, role } = message;
          return {
            id,
            object: 'chat.completion' as const,
            model,
            created,
            choices: [{ index: 0, message: { content, role } }],
          };
        }
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, type: STREAM_TYPE, log }, async (send) => {
          await withModel(models, wish, context, async (resolved, tried) => {
            const call = { name: resolved.model.name, args: originalChatArguments(request, resolved), blame: [] };
            await drained(piecesOf(models, call, 'chat_stream', tried), (batch) =>
              send(
                batch.map(({ text: content }) => ({
                  id,
                  object: 'chat.completion.chunk',
                  model,
                  created,
                  choices: [{ index: 0, delta: { content, role: 'assistant' } }],
                })),
              ),
            );
          });
        });
        return undefined;
      });
    },
  );
}
