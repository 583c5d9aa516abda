import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../openapi/index.ts';
import { allowedDeployments } from '../../../data/access/index.ts';
import type { ApiBatches } from './batches.ts';
import { Batch, BatchList, batchObject, requireBatch } from './batch-object.ts';
import { BATCH_FIELDS, BatchRequest } from './batch-fields.ts';
import { afterId, checkCursor, listPage } from '../list-page.ts';
import { invalidValue } from '../fields.ts';
import { requireFile } from '../files/file-object.ts';
import { OPENAI_BATCHES } from './openai-batches.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { refusalToRun } from '../../http/guards/run-rights.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../http/openai-request.ts';

/** The query of `GET /v1/batches`. */
const BatchesQuery = z.object({
  after: afterId('batch'),
  limit: whole({ min: 1, max: 100, default: 20 }, 'Batches of a page: 1 to 100. Default: 20.'),
});

/** Adds the routes of the batches of the caller. */
export function batchesRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const batchesOf = (ctx: Context): ApiBatches => openai.batches.as(callerOf(ctx)).in(OPENAI_BATCHES);

  serveRoute(
    router,
    {
      id: 'create_batch',
      at: 'post /v1/batches',
      summary: 'Answers the requests of a file in the background, within a day',
      body: BatchRequest,
      idle: BATCH_FIELDS.idle,
      answers: answers('The batch.', Batch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx }) => {
      const request = await readJsonRequest(ctx, BATCH_FIELDS, options);
      const caller = callerOf(ctx);
      const refusal = refusalToRun(caller, request.endpoint, undefined);
      if (refusal) throw refusal;
      const id = request.input_file_id;
      const input = requireFile(id, await openai.files.as(caller).find(id), 'input_file_id');
      if (input.purpose !== 'batch')
        throw invalidValue('input_file_id', `the purpose of the file is ${input.purpose}, not batch`);
      const batch = await batchesOf(ctx).create({
        endpoint: request.endpoint,
        input,
        metadata: request.metadata ?? null,
        outputExpiresAfterS: request.output_expires_after?.seconds,
        rights: { deployments: allowedDeployments(caller.scopes, request.endpoint), scopes: caller.scopes },
      });
      return batchObject(batch);
    },
  );
  serveRoute(
    router,
    {
      id: 'list_batches',
      at: 'get /v1/batches',
      summary: 'The batches, the newest first',
      query: BatchesQuery,
      idle: {},
      answers: answers('A page of batches.', BatchList),
      fails: [400, ...STORED_FAILURES],
    },
    async ({ ctx, query: { after, limit } }) => {
      checkCursor(after, 'batch_');
      const found = await batchesOf(ctx).list({ after, limit: limit + 1 });
      return listPage(found.map(batchObject), limit);
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_batch',
      at: 'get /v1/batches/{batch_id}',
      summary: 'A batch, with the number of its requests that have an answer',
      answers: answers('The batch.', Batch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => batchObject(requireBatch(id, await batchesOf(ctx).find(id))),
  );
  serveRoute(
    router,
    {
      id: 'cancel_batch',
      at: 'post /v1/batches/{batch_id}/cancel',
      summary: 'Ends a batch; requests that have an answer keep it',
      answers: answers('The batch, whose requests end now.', Batch),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => batchObject(requireBatch(id, await batchesOf(ctx).cancel(id))),
  );
}
