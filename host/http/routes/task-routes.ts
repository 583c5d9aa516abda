import type { Router } from '@koa/router';
import type { Context } from 'koa';
import * as z from 'zod';
import { AanaError } from '../../core/errors.ts';
import {
  type EndpointRegistry,
  type ServedEndpoint,
  type UploadedFile,
  validationError,
} from '../../endpoints/index.ts';
import {
  type AttemptRecord,
  type ListedTask,
  type TaskEvent,
  type TaskQueue,
  type TaskRecord,
  TASK_STATUSES,
  type TaskStatus,
} from '../../tasks/index.ts';
import { callerOf, isOperator, showsInside } from '../guards/caller.ts';
import { HttpError } from '../response/error-body.ts';
import { refuseForeignGet } from '../guards/foreign-page.ts';
import { pageOf } from '../request/page.ts';
import { badQuery, numberOf, queryValue } from '../request/query.ts';
import { abortOnClose, traceparentOf } from '../request/request-context.ts';
import { refusalToRun } from '../guards/run-rights.ts';
import { EVENT_KEEP_ALIVE, serverSentEvent } from '../response/server-sent-events.ts';
import { StreamedAnswer } from '../response/streamed-answer.ts';

export interface TaskRoutesOptions {
  readonly tasks: TaskQueue;
  readonly registry: EndpointRegistry;
  readonly includeStacktrace: boolean;
}

/** How often a client that watches a quiet task hears that the connection is there. */
const KEEP_ALIVE_MS = 15_000;
const TASK_ID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const PRIORITY = z.int().min(-1000).max(1000);
const EXECUTION_TIMEOUT = z.number().positive().max(604_800);
const TRUE = new Set(['true', '1', 'yes', 'on', 't', 'y']);
const FALSE = new Set(['false', '0', 'no', 'off', 'f', 'n']);

/** Whether a request is to become a task, by its query and what the endpoint allows. */
export function isDeferred(ctx: Context, { deferOption = 'optional' }: ServedEndpoint): boolean {
  const text = queryValue(ctx, 'defer');
  const asked = text !== undefined && TRUE.has(text.toLowerCase());
  if (text !== undefined && !asked && !FALSE.has(text.toLowerCase()))
    throw badQuery('defer', 'bool_parsing', 'Input should be a valid boolean', text);
  if (deferOption !== 'never') taskOptionsOf(ctx); // refused also where they would not be used
  return deferOption === 'always' || (deferOption === 'optional' && asked);
}

interface TaskOptions {
  readonly priority: number | undefined;
  readonly executionTimeoutS: number | undefined;
}

/** What a request says of the task that it is to become. */
function taskOptionsOf(ctx: Context): TaskOptions {
  return {
    priority: numberOf(ctx, 'priority', PRIORITY),
    executionTimeoutS: numberOf(ctx, 'execution_timeout', EXECUTION_TIMEOUT),
  };
}

/**
 * Refuses a request that is to become a task, before its body is read: with a 422 when it asks for more than the
 * operator lets its user have, with `TooManyTasks` when the user has as many tasks waiting as may, and with
 * `TaskStorageFull` when there is no room for what it says that it brings. A repeated request is answered whatever
 * waits.
 */
export async function admitDeferred(ctx: Context, tasks: TaskQueue): Promise<void> {
  const { userId, isAdmin } = callerOf(ctx);
  const { priority, executionTimeoutS } = taskOptionsOf(ctx);
  const { maxPriority = Infinity, maxExecutionTimeoutS = Infinity } = tasks.ceilings(userId, isAdmin);
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
  if (ctx.get('idempotency-key') === '') await tasks.requireRoom(userId, { bytes: ctx.request.length ?? 1 });
}

/** Keeps a request as a task and answers with its id. */
export async function deferRequest(
  ctx: Context,
  endpoint: ServedEndpoint,
  tasks: TaskQueue,
  body: { readonly input: unknown; readonly files: ReadonlyMap<string, UploadedFile> },
): Promise<void> {
  const key = ctx.get('idempotency-key');
  if (key.length > 255)
    throw validationError([
      {
        type: 'string_too_long',
        loc: ['header', 'idempotency-key'],
        msg: 'String should have at most 255 characters',
        input: key,
      },
    ]);
  const taskId = await tasks.enqueue(endpoint, {
    input: body.input,
    files: body.files,
    userId: userOf(ctx),
    ...taskOptionsOf(ctx),
    idempotencyKey: key === '' ? undefined : key,
    traceparent: traceparentOf(ctx),
  });
  ctx.body = { task_id: taskId };
}

/** The routes of the original for tasks, and `cancel` and `events`. */
export function taskRoutes(router: Router, { tasks, registry, includeStacktrace }: TaskRoutesOptions): void {
  const show = (ctx: Context, task: TaskRecord | ListedTask): object =>
    taskInfo(task, showsInside(ctx, includeStacktrace));

  router.get('/tasks/count', async (ctx) => {
    const counts = await tasks.count(userOf(ctx));
    ctx.body = { ...counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) };
  });
  router.get('/tasks', async (ctx) => {
    const found = await tasks.list(userOf(ctx), { status: statusOf(ctx), ...filterOf(ctx), ...pageOf(ctx) });
    ctx.body = { tasks: found.map((task) => show(ctx, task)) };
  });
  router.post('/tasks/retry', async (ctx) => {
    const limit = numberOf(ctx, 'limit', z.int().min(1).max(1000)) ?? 100;
    const ids = await tasks.retryFailed(
      userOf(ctx),
      { ...filterOf(ctx), endpoints: runnablePaths(ctx, registry) },
      limit,
    );
    ctx.body = { count: ids.length, task_ids: ids };
  });
  router.get('/tasks/get/:id', async (ctx) => {
    ctx.body = show(ctx, await answeredTask(tasks.get(taskIdOf(ctx), userOf(ctx))));
  });
  router.get('/tasks/delete/:id', async (ctx) => {
    if (ctx.method === 'HEAD')
      throw new HttpError('MethodNotAllowed', 405, `${ctx.path} does not take HEAD: it takes GET`, {
        headers: { allow: 'GET' },
      }); // it would delete without saying so
    refuseForeignGet(ctx, 'programs send DELETE /tasks/{id}');
    ctx.body = { task_id: (await answeredTask(tasks.delete(taskIdOf(ctx), userOf(ctx)))).id };
  });
  router.get('/tasks/:id', async (ctx) => {
    ctx.body = show(ctx, await answeredTask(tasks.get(taskIdOf(ctx), userOf(ctx))));
  });
  router.delete('/tasks/:id', async (ctx) => {
    ctx.body = show(ctx, await answeredTask(tasks.delete(taskIdOf(ctx), userOf(ctx))));
  });
  router.post('/tasks/:id/retry', async (ctx) => {
    const id = taskIdOf(ctx);
    const { endpoint: path } = await answeredTask(tasks.get(id, userOf(ctx)));
    const refusal = refusalToRun(callerOf(ctx), path, registry.find(path));
    if (refusal) throw refusal;
    ctx.body = show(ctx, await answeredTask(tasks.retry(id, userOf(ctx))));
  });
  router.post('/tasks/:id/cancel', async (ctx) => {
    ctx.body = show(ctx, await answeredTask(tasks.cancel(taskIdOf(ctx), userOf(ctx))));
  });
  router.get('/tasks/:id/attempts', async (ctx) => {
    const found = await answeredTask(tasks.attempts(taskIdOf(ctx), userOf(ctx)));
    ctx.body = {
      attempts: found.map((attempt) =>
        attemptInfo(attempt, { showsHost: isOperator(ctx), includeStacktrace: showsInside(ctx, includeStacktrace) }),
      ),
    };
  });
  router.get('/tasks/:id/events', async (ctx) => {
    const after = lastEventOf(ctx);
    const signal = abortOnClose(ctx);
    await sendEvents(ctx, await answeredTask(tasks.watch(taskIdOf(ctx), userOf(ctx), { after, signal })), signal);
  });
}

/**
 * Paths of the endpoints that a caller may run: a key must not run by a retry what it may not run by a request.
 * Undefined where nobody is asked for a key.
 */
function runnablePaths(ctx: Context, registry: EndpointRegistry): readonly string[] | undefined {
  const caller = callerOf(ctx);
  if (caller.keyId === null) return undefined;
  return registry
    .list()
    .filter((endpoint) => refusalToRun(caller, endpoint.path, endpoint) === undefined)
    .map(({ path }) => path);
}

/** A task as clients see it: the keys of the original, and ours. */
export function taskInfo(task: TaskRecord | ListedTask, includeStacktrace: boolean): object {
  return {
    id: task.id,
    endpoint: task.endpoint,
    data: task.data === null ? null : (JSON.parse(task.data) as unknown),
    status: task.status,
    result:
      task.status === 'failed'
        ? errorInfo(task.result, includeStacktrace)
        : task.result === null
          ? null
          : (JSON.parse(task.result) as unknown),
    progress: task.progress,
    num_retries: task.num_retries,
    priority: task.priority,
    created_at: time(task.created_at),
    assigned_at: time(task.assigned_at),
    completed_at: time(task.completed_at),
    ...('omitted' in task && task.omitted.length > 0 && { omitted: task.omitted }),
  };
}

/** A host is `<machine>/<pid>/<id>`; users see the last part, which tells processes apart and nothing else. */
function attemptInfo(
  { lease_token: attempt, host: owner, started_at: startedAt, ended_at: endedAt, outcome, error }: AttemptRecord,
  { showsHost, includeStacktrace }: { readonly showsHost: boolean; readonly includeStacktrace: boolean },
): object {
  const host = showsHost ? owner : owner.slice(owner.lastIndexOf('/') + 1);
  return {
    attempt,
    host,
    started_at: time(startedAt),
    ended_at: time(endedAt),
    outcome,
    error: errorInfo(error, includeStacktrace),
  };
}

/** An error as it is stored, without its stack where that is not shown. */
function errorInfo(json: string | null, includeStacktrace: boolean): object | null {
  if (json === null) return null;
  const error = JSON.parse(json) as object;
  return includeStacktrace ? error : { ...error, stacktrace: null };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Sends server-sent events until the task has ended or the client goes away. */
async function sendEvents(ctx: Context, events: AsyncIterable<TaskEvent>, signal: AbortSignal): Promise<void> {
  const answer = new StreamedAnswer(ctx, {
    type: 'text/event-stream',
    keepAlive: EVENT_KEEP_ALIVE,
    keepAliveMs: KEEP_ALIVE_MS,
  });
  answer.sendHead();
  try {
    for await (const { id, event, data } of events) await answer.write(serverSentEvent(id, event, data), signal);
  } catch {
    // The client asks again from the last event that it has, both when its connection ended and when the database was
    // away for a while.
  } finally {
    answer.end();
  }
}

/** In an error of these routes the original has `detail`, and 400 where the state of a task is in the way. */
export async function answeredTask<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    if (error.kind === 'not-found') throw taskNotFound(error.data);
    if (error.kind === 'bad-request')
      throw new HttpError(error.name, 400, error.message, { data: error.data, detail: error.message });
    if (error.kind === 'conflict')
      throw new HttpError(error.name, 409, error.message, { data: error.data, detail: error.message });
    throw error;
  }
}

function userOf(ctx: Context): string | null {
  return callerOf(ctx).userId;
}

function taskNotFound(data: unknown): HttpError {
  return new HttpError('NotFoundException', 404, 'Task not found', { data, detail: 'Task not found' });
}

export function taskIdOf(ctx: Context): string {
  const { id = '' } = (ctx as Context & { readonly params: Readonly<Record<string, string>> }).params;
  if (!TASK_ID.test(id)) throw taskNotFound({ table: 'tasks', id });
  const hex = id.toLowerCase().replaceAll('-', '');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function statusOf(ctx: Context): TaskStatus | undefined {
  const text = queryValue(ctx, 'status');
  if (text === undefined) return undefined;
  const status = TASK_STATUSES.find((one) => one === text);
  if (status === undefined)
    throw badQuery('status', 'enum', `Input should be one of ${TASK_STATUSES.join(', ')}`, text);
  return status;
}

/** Which tasks are meant, besides their status. */
export function filterOf(ctx: Context): { readonly endpoint: string | undefined; readonly error: string | undefined } {
  return { endpoint: textOf(ctx, 'endpoint'), error: textOf(ctx, 'error') };
}

/** A text of the query that can be looked for in the database; undefined when it is not given. */
function textOf(ctx: Context, name: string): string | undefined {
  const text = queryValue(ctx, name);
  if (text !== undefined && (text === '' || text.length > 255 || text.includes('\0')))
    throw badQuery(name, 'string_parsing', 'Input should be a text of 1 to 255 characters', text);
  return text;
}

/** Where to go on: what a browser sends when it connects again, or the query for clients that cannot set headers. */
function lastEventOf(ctx: Context): number {
  const text = ctx.get('last-event-id');
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return numberOf(ctx, 'last_event_id', z.int().min(0)) ?? 0;
}
