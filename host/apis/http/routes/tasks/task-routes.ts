import type { Context } from 'koa';
import type { EndpointRegistry } from '../../../../endpoints/registry/index.ts';
import type { Task } from '../../../openapi/index.ts';
import { TASK_ROUTES } from './task-definitions.ts';
import type {
  ListedTask,
  TaskEvent,
  TaskQueue,
  TaskRecord,
  UserTasks,
  WatchOptions,
} from '../../../../data/tasks/index.ts';
import { callerOf, isOperator, showsInside } from '../../guards/caller.ts';
import { refuseForeignGet } from '../../guards/foreign-page.ts';
import { refusalToRun } from '../../guards/run-rights.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { HttpError } from '../../response/error-body.ts';
import { sendEvents } from '../../response/server-sent-events.ts';
import { withDetail } from '../refusals.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import { attemptInfo, taskCounts, taskInfo } from './task-answers.ts';

export interface TaskRoutesOptions {
  readonly tasks: TaskQueue;
  readonly registry: EndpointRegistry;
  readonly includeStacktrace: boolean;
}

/** Interval of signs of life to a client that watches a quiet task. */
const KEEP_ALIVE_MS = 15_000;

/** Adds the routes of the original for tasks, and `cancel` and `events`. */
export function taskRoutes(router: HostRouter, { tasks, registry, includeStacktrace }: TaskRoutesOptions): void {
  const tasksOf = (ctx: Context): UserTasks => tasks.as(callerOf(ctx));
  const show = (ctx: Context, task: TaskRecord | ListedTask): Task =>
    taskInfo(task, showsInside(ctx, includeStacktrace));

  // The first route that matches answers, and `/tasks/{task_id}` matches `/tasks/count` too.
  serveRoute(router, TASK_ROUTES.count, async ({ ctx }) => taskCounts(await tasksOf(ctx).count()));
  serveRoute(router, TASK_ROUTES.list, async ({ ctx, query: { page, per_page: perPage, ...filter } }) => {
    const found = await tasksOf(ctx).list({ ...filter, page, perPage });
    return { tasks: found.map((task) => show(ctx, task)) };
  });
  serveRoute(router, TASK_ROUTES.retryFailed, async ({ ctx, query: { limit, ...filter } }) => {
    const chosen = { ...filter, endpoints: runnablePaths(ctx, registry) };
    const ids = await tasksOf(ctx).retryFailed(chosen, limit);
    return { count: ids.length, task_ids: ids };
  });
  serveRoute(router, TASK_ROUTES.getLegacy, async ({ ctx, params }) =>
    show(ctx, await withDetail(tasksOf(ctx).get(params.task_id))),
  );
  serveRoute(router, TASK_ROUTES.deleteLegacy, async ({ ctx, params }) => {
    if (ctx.method === 'HEAD')
      throw new HttpError('MethodNotAllowed', `${ctx.path} does not accept HEAD; it accepts GET`, {
        headers: { allow: 'GET' },
      }); // a HEAD request must not delete anything
    refuseForeignGet(ctx, 'programs can send DELETE /tasks/{id}');
    return { task_id: (await withDetail(tasksOf(ctx).delete(params.task_id))).id };
  });
  serveRoute(router, TASK_ROUTES.get, async ({ ctx, params }) =>
    show(ctx, await withDetail(tasksOf(ctx).get(params.task_id))),
  );
  serveRoute(router, TASK_ROUTES.delete, async ({ ctx, params }) =>
    show(ctx, await withDetail(tasksOf(ctx).delete(params.task_id))),
  );
  serveRoute(router, TASK_ROUTES.retry, async ({ ctx, params: { task_id: id } }) => {
    const { endpoint: path } = await withDetail(tasksOf(ctx).get(id));
    const refusal = refusalToRun(callerOf(ctx), path, registry.find(path));
    if (refusal) throw refusal;
    return show(ctx, await withDetail(tasksOf(ctx).retry(id)));
  });
  serveRoute(router, TASK_ROUTES.cancel, async ({ ctx, params }) =>
    show(ctx, await withDetail(tasksOf(ctx).cancel(params.task_id))),
  );
  serveRoute(router, TASK_ROUTES.attempts, async ({ ctx, params }) => {
    const found = await withDetail(tasksOf(ctx).attempts(params.task_id));
    const options = { showsHost: isOperator(ctx), includeStacktrace: showsInside(ctx, includeStacktrace) };
    return { attempts: found.map((attempt) => attemptInfo(attempt, options)) };
  });
  serveRoute(router, TASK_ROUTES.watch, async ({ ctx, params, query }) => {
    await sendTaskEvents(ctx, query.last_event_id, (wanted) => withDetail(tasksOf(ctx).watch(params.task_id, wanted)));
  });
}

/**
 * Sends the events of a task that `watch` returns, after the last event that the client has. A refusal of `watch` has
 * its own status.
 */
export async function sendTaskEvents(
  ctx: Context,
  lastEventId: number | undefined,
  watch: (wanted: WatchOptions) => Promise<AsyncIterable<TaskEvent>>,
): Promise<void> {
  const after = lastEventOf(ctx) ?? lastEventId ?? 0;
  const signal = abortOnClose(ctx);
  // The client continues from its last event, also if the database was away for a while.
  await sendEvents(ctx, await watch({ after, signal }), {
    signal,
    keepAliveMs: KEEP_ALIVE_MS,
    onFailure: () => {},
  });
}

/**
 * Returns the paths of the endpoints that a caller may run, because a retry must not run an endpoint that a request may
 * not run. Returns undefined if API keys are off.
 */
function runnablePaths(ctx: Context, registry: EndpointRegistry): readonly string[] | undefined {
  const caller = callerOf(ctx);
  if (caller.keyId === null) return undefined;
  return registry
    .list()
    .filter((endpoint) => refusalToRun(caller, endpoint.path, endpoint) === undefined)
    .map(({ path }) => path);
}

/** Returns the event after which a browser continues when it connects again. */
function lastEventOf(ctx: Context): number | undefined {
  const text = ctx.get('last-event-id');
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
