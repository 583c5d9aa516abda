import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../../../openapi/index.ts';
import { allowedDeployments } from '../../../../access/index.ts';
import type { ApiBatches } from '../../../../batches/index.ts';
import {
  Batch,
  BATCH_FIELDS,
  BatchesQuery,
  BatchList,
  batchObject,
  BatchRequest,
  checkCursor,
  invalidValue,
  listPage,
  requireBatch,
  requireFile,
} from '../../../../openai/index.ts';
import { callerOf } from '../../../guards/caller.ts';
import { refusalToRun } from '../../../guards/run-rights.ts';
import { type HostRouter, serveRoute } from '../../serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../openai-request.ts';

/** Adds the routes of the batches of the caller. */
export function batchesRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const batchesOf = (ctx: Context): ApiBatches => openai.batches.as(callerOf(ctx)).in('openai');

  serveRoute(
    router,
    {
      id: 'create_batch',
      method: 'post',
      path: '/v1/batches',
      summary: 'Answers the requests of a file in the background, within a day',
      tag: 'openai',
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
        deployments: allowedDeployments(caller.scopes, request.endpoint),
      });
      return batchObject(batch);
    },
  );
  serveRoute(
    router,
    {
      id: 'list_batches',
      method: 'get',
      path: '/v1/batches',
      summary: 'The batches, the newest first',
      tag: 'openai',
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
      method: 'get',
      path: '/v1/batches/{batch_id}',
      summary: 'A batch, with the number of its requests that have an answer',
      tag: 'openai',
      answers: answers('The batch.', Batch),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => batchObject(requireBatch(id, await batchesOf(ctx).find(id))),
  );
  serveRoute(
    router,
    {
      id: 'cancel_batch',
      method: 'post',
      path: '/v1/batches/{batch_id}/cancel',
      summary: 'Ends a batch; requests that have an answer keep it',
      tag: 'openai',
      answers: answers('The batch, whose requests end now.', Batch),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { batch_id: id } }) => batchObject(requireBatch(id, await batchesOf(ctx).cancel(id))),
  );
}
