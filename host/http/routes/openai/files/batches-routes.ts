import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { allowedDeployments } from '../../../../access/index.ts';
import type { ApiBatches } from '../../../../batches/index.ts';
import {
  BATCH_FIELDS,
  batchObject,
  checkCursor,
  invalidValue,
  listPage,
  requireBatch,
  requireFile,
} from '../../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../../openapi/index.ts';
import { callerOf } from '../../../guards/caller.ts';
import { refusalToRun } from '../../../guards/run-rights.ts';
import { serveRoute } from '../../serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../openai-request.ts';

/** Adds the routes of the batches of the caller. */
export function batchesRoutes(router: Router, options: OpenAiHttpOptions): void {
  const { openai } = options;
  const batchesOf = (ctx: Context): ApiBatches => openai.batches.as(callerOf(ctx)).in('openai');

  serveRoute(router, OPENAI_ROUTES.createBatch, async ({ ctx }) => {
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
  });
  serveRoute(router, OPENAI_ROUTES.listBatches, async ({ ctx, query: { after, limit } }) => {
    checkCursor(after, 'batch_');
    const found = await batchesOf(ctx).list({ after, limit: limit + 1 });
    return listPage(found.map(batchObject), limit);
  });
  serveRoute(router, OPENAI_ROUTES.getBatch, async ({ ctx, params: { batch_id: id } }) =>
    batchObject(requireBatch(id, await batchesOf(ctx).find(id))),
  );
  serveRoute(router, OPENAI_ROUTES.cancelBatch, async ({ ctx, params: { batch_id: id } }) =>
    batchObject(requireBatch(id, await batchesOf(ctx).cancel(id))),
  );
}
