import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { Logger } from '../../core/log/logger.ts';
import {
  ADMIN_TASK_ROUTES,
  ADMIN_WEBHOOK_ROUTES,
  type AnyTask,
  type AnyWebhook,
  type Task,
} from '../../openapi/index.ts';
import type { ListedTask, TaskQueue, TaskRecord } from '../../tasks/index.ts';
import type { WebhookRecord, Webhooks } from '../../webhooks/index.ts';
import { callerOf } from '../guards/caller.ts';
import { withDetail } from './refusals.ts';
import { serveRoute } from './serve-route.ts';
import { taskCounts, taskInfo } from './task-answers.ts';
import { webhookInfo } from './webhook-routes.ts';

export interface AdminRoutesOptions {
  readonly tasks?: TaskQueue | undefined;
  readonly webhooks?: Webhooks | undefined;
  /** Whether admins see the contents of other users' tasks, and whole URLs of their webhooks. */
  readonly showsContents: boolean;
  readonly includeStacktrace: boolean;
  readonly log: Logger;
}

/** Adds the routes with which admins list and end tasks and webhooks of all users. The guard refuses other callers. */
export function adminRoutes(
  router: Router,
  { tasks, webhooks, showsContents, includeStacktrace, log }: AdminRoutesOptions,
): void {
  /** Logs the admin who ended something, because it was not its user. */
  const note = (ctx: Context, message: string, fields: object): void =>
    log.info(message, { ...fields, admin: callerOf(ctx).userId, key: callerOf(ctx).keyId });
  if (tasks) {
    const show = (task: TaskRecord | ListedTask): AnyTask => ({
      user_id: task.user_id,
      ...(showsContents ? taskInfo(task, includeStacktrace) : withoutContents(task)),
      error: task.error,
    });

    serveRoute(router, ADMIN_TASK_ROUTES.list, async ({ query }) => {
      const { user_id: user = null, page, per_page: perPage, ...filter } = query;
      return { tasks: (await tasks.list(user, { ...filter, page, perPage })).map(show) };
    });
    serveRoute(router, ADMIN_TASK_ROUTES.count, async ({ query }) =>
      taskCounts(await tasks.count(query.user_id ?? null)),
    );
    serveRoute(router, ADMIN_TASK_ROUTES.get, async ({ params }) =>
      show(await withDetail(tasks.get(params.task_id, null))),
    );
    serveRoute(router, ADMIN_TASK_ROUTES.cancel, async ({ ctx, params }) => {
      const task = await withDetail(tasks.cancel(params.task_id, null));
      note(ctx, 'task cancelled by an admin', { task: task.id, user: task.user_id });
      return show(task);
    });
    serveRoute(router, ADMIN_TASK_ROUTES.retry, async ({ ctx, params }) => {
      const task = await withDetail(tasks.retry(params.task_id, null));
      note(ctx, 'task retried by an admin', { task: task.id, user: task.user_id });
      return show(task);
    });
    serveRoute(router, ADMIN_TASK_ROUTES.delete, async ({ ctx, params }) => {
      const task = await withDetail(tasks.delete(params.task_id, null));
      note(ctx, 'task removed by an admin', { task: task.id, user: task.user_id });
      return show(task);
    });
  }
  if (webhooks) {
    const show = (webhook: WebhookRecord): AnyWebhook => ({
      user_id: webhook.user_id,
      ...webhookInfo(showsContents ? webhook : { ...webhook, url: new URL(webhook.url).origin }),
    });

    serveRoute(router, ADMIN_WEBHOOK_ROUTES.list, async ({ query }) => {
      const { user_id: user = null, page, per_page: perPage } = query;
      return { webhooks: (await webhooks.listAll(user, { page, perPage })).map(show) };
    });
    serveRoute(router, ADMIN_WEBHOOK_ROUTES.delete, async ({ ctx, params }) => {
      const webhook = await withDetail(webhooks.deleteAny(params.webhook_id));
      note(ctx, 'webhook removed by an admin', { webhook: webhook.id, user: webhook.user_id });
      return show(webhook);
    });
  }
}

/** Returns a task without its input and its result. */
function withoutContents(task: TaskRecord | ListedTask): Omit<Task, 'data' | 'result' | 'omitted'> {
  const {
    data: _data,
    result: _result,
    omitted: _omitted,
    ...rest
  } = taskInfo({ ...task, data: 'null', result: null }, false);
  return rest;
}
