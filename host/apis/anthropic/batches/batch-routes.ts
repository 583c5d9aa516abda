import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../openapi/index.ts';
import { allowedDeployments } from '../../../data/access/index.ts';
import {
  checkRequests,
  DeletedMessageBatch,
  MESSAGE_BATCH_FIELDS,
  messageBatch,
  MessageBatch,
  MessageBatchesQuery,
  MessageBatchPage,
  MessageBatchRequest,
  MessageBatchResult,
  requireEnd,
} from './message-batch-fields.ts';
import { page } from '../pages.ts';
import { MESSAGE_BATCHES, MESSAGES_PATH } from './message-batches.ts';
import { messageLines, unansweredResults } from './message-lines.ts';
import {
  type ApiBatches,
  largeImages,
  type OpenAiHttpOptions,
  readJsonRequest,
  requireBatch,
  requireFile,
} from '../../openai/index.ts';
import type { UserFiles } from '../../../data/files/index.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { refusalToRun } from '../../http/guards/run-rights.ts';
import { mountPath } from '../../http/routes/routers.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';

/** Adds the routes of the batches of messages of the caller. */
export function messageBatchRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const batchesOf = (ctx: Context): ApiBatches => openai.batches.as(callerOf(ctx)).in(MESSAGE_BATCHES);
  const filesOf = (ctx: Context): UserFiles => openai.files.as(callerOf(ctx));

  serveRoute(
    router,
    {
      id: 'create_message_batch',
      at: 'post /v1/messages/batches',
      summary: 'Answers dialogs in the background, within a day, as in Anthropic’s API',
      body: MessageBatchRequest,
      idle: MESSAGE_BATCH_FIELDS.idle,
      answers: answers('The batch.', MessageBatch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx }) => {
      const request = await readJsonRequest(ctx, MESSAGE_BATCH_FIELDS, options, largeImages(openai.models, options));
      checkRequests(request, openai.maxBatchRequests);
      const caller = callerOf(ctx);
      const refusal = refusalToRun(caller, MESSAGES_PATH, undefined);
      if (refusal) throw refusal;
      const files = filesOf(ctx);
      const input = await files.create(messageLines(request), { filename: 'message_batch.jsonl', purpose: 'batch' });
      try {
        const batch = await batchesOf(ctx).create({
          endpoint: MESSAGES_PATH,
          input,
          total: request.requests.length,
          metadata: null,
          outputExpiresAfterS: undefined,
          rights: { deployments: allowedDeployments(caller.scopes, MESSAGES_PATH), scopes: caller.scopes },
        });
        return shown(ctx, batch);
      } catch (error) {
        await files.delete(input.id).catch(() => {}); // a batch that may be stored keeps its input
        throw error;
      }
    },
  );
  serveRoute(
    router,
    {
      id: 'list_message_batches',
      at: 'get /v1/messages/batches',
      summary: 'The batches of messages, the newest first',
      query: MessageBatchesQuery,
      answers: answers('A page of batches.', MessageBatchPage),
      fails: [400, ...STORED_FAILURES],
    },
    async ({ ctx, query }) => {
      const { limit, after_id: after, before_id: before } = query;
      const found = await batchesOf(ctx).list({ after, before, limit: limit + 1 });
      return page(
        found.map((batch) => shown(ctx, batch)),
        query,
      );
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_message_batch',
      at: 'get /v1/messages/batches/{batch_id}',
      summary: 'A batch of messages',
      answers: answers('The batch.', MessageBatch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => shown(ctx, requireBatch(id, await batchesOf(ctx).find(id))),
  );
  serveRoute(
    router,
    {
      id: 'cancel_message_batch',
      at: 'post /v1/messages/batches/{batch_id}/cancel',
      summary: 'Ends a batch of messages; requests that have an answer keep it',
      answers: answers('The batch, whose requests end now.', MessageBatch),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => shown(ctx, requireBatch(id, await batchesOf(ctx).cancel(id))),
  );
  serveRoute(
    router,
    {
      id: 'delete_message_batch',
      at: 'delete /v1/messages/batches/{batch_id}',
      summary: 'Removes a batch of messages that has ended, with its results',
      answers: answers('What is removed.', DeletedMessageBatch),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => {
      const batch = requireBatch(id, await batchesOf(ctx).find(id));
      requireEnd(batch);
      const files = filesOf(ctx);
      for (const file of [batch.input_file_id, batch.output_file_id]) if (file !== null) await files.delete(file);
      await batchesOf(ctx).delete(id);
      return { id, type: 'message_batch_deleted' as const };
    },
  );
  serveRoute(
    router,
    {
      id: 'message_batch_results',
      at: 'get /v1/messages/batches/{batch_id}/results',
      summary: 'The results of a batch of messages that has ended',
      answers: {
        200: { description: 'A result in each line.', schema: MessageBatchResult, type: 'application/x-jsonl' },
      },
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => {
      const batch = requireBatch(id, await batchesOf(ctx).find(id));
      requireEnd(batch);
      const { isAbandoned, input_file_id: inputId, output_file_id: outputId } = batch;
      const files = filesOf(ctx);
      const name = outputId ?? inputId;
      const content = await files.open(requireFile(name, await files.find(name)));
      ctx.type = 'application/x-jsonl';
      ctx.body =
        outputId === null
          ? Readable.from(unansweredResults(content, isAbandoned ? 'abandoned' : 'cancelled'))
          : content;
    },
  );
}

function shown(ctx: Context, batch: Parameters<typeof messageBatch>[0]): ReturnType<typeof messageBatch> {
  const root = `${ctx.protocol}://${ctx.host}${mountPath(ctx)}`;
  return messageBatch(batch, `${root}${MESSAGES_PATH}/batches/${batch.id}/results`);
}
