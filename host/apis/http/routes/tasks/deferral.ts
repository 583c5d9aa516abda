import type { Context } from 'koa';
import * as z from 'zod';
import type { AanaError } from '../../../../base/core/errors.ts';
import { parseInput, type ServedEndpoint, type UploadedFile } from '../../../../endpoints/registry/index.ts';
import { DeferQuery, IdempotencyKey, type TaskId, TaskQuery } from '../../../openapi/index.ts';
import type { TaskQueue } from '../../../../data/tasks/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { badQuery, queryReader, queryValue } from '../../request/query.ts';

const deferOf = queryReader(DeferQuery);
const taskOptionsOf = queryReader(TaskQuery);
const Headers = z.object({ header: z.object({ 'idempotency-key': IdempotencyKey.optional() }) });

/** Whether a request becomes a task, by its query and the option of the endpoint. */
export function isDeferred(ctx: Context, { deferOption = 'optional' }: ServedEndpoint): boolean {
  const { defer } = deferOf(ctx);
  if (deferOption !== 'never') taskOptionsOf(ctx); // wrong values are refused even if nothing uses them
  return deferOption === 'always' || (deferOption === 'optional' && defer);
}

/**
 * Refuses a request that would become a task, before its body is read. Throws a 422 if it asks for more than the
 * operator allows its user, `TooManyTasks` if the user has too many waiting tasks, and `TaskStorageFull` if the
 * announced body does not fit. A repeated request passes in any case, because it gets the id of an existing task.
 */
export async function admitDeferred(ctx: Context, tasks: TaskQueue): Promise<void> {
  const caller = callerOf(ctx);
  const own = tasks.as(caller);
  const { priority, execution_timeout: executionTimeoutS } = taskOptionsOf(ctx);
  const { maxPriority = Infinity, maxExecutionTimeoutS = Infinity } = own.ceilings(caller.isAdmin);
  const refused = (name: string, most: number): AanaError =>
    badQuery(
      name,
      'less_than_equal',
      `Input should be less than or equal to ${most}, the most for this user`,
      queryValue(ctx, name) ?? '',
    );
  if (priority !== undefined && priority > maxPriority) throw refused('priority', maxPriority);
  if (executionTimeoutS !== undefined && executionTimeoutS > maxExecutionTimeoutS)
    throw refused('execution_timeout', maxExecutionTimeoutS);
  if (ctx.get('idempotency-key') === '') await own.requireRoom({ bytes: ctx.request.length ?? 1 });
}

/** Stores a request as a task and answers with the id of the task. */
export async function deferRequest(
  ctx: Context,
  endpoint: ServedEndpoint,
  tasks: TaskQueue,
  body: { readonly input: unknown; readonly files: ReadonlyMap<string, UploadedFile> },
): Promise<void> {
  const key = ctx.get('idempotency-key');
  const { header } = parseInput(Headers, { header: key === '' ? {} : { 'idempotency-key': key } });
  const { priority, execution_timeout: executionTimeoutS } = taskOptionsOf(ctx);
  const taskId = await tasks.as(callerOf(ctx)).enqueue(endpoint, {
    input: body.input,
    files: body.files,
    priority,
    executionTimeoutS,
    idempotencyKey: header['idempotency-key'],
  });
  ctx.body = { task_id: taskId } satisfies TaskId;
}
