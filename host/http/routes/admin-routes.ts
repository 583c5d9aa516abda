import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { Logger } from '../../core/log/logger.ts';
import type { ListedTask, TaskQueue, TaskRecord } from '../../tasks/index.ts';
import type { WebhookRecord, Webhooks } from '../../webhooks/index.ts';
import { callerOf } from '../guards/caller.ts';
import { pageOf } from '../request/page.ts';
import { queryValue } from '../request/query.ts';
import { answeredTask, filterOf, statusOf, taskIdOf, taskInfo } from './task-routes.ts';
import { answeredWebhook, webhookIdOf, webhookInfo } from './webhook-routes.ts';

export interface AdminRoutesOptions {
  readonly tasks: TaskQueue | undefined;
  readonly webhooks: Webhooks | undefined;
  /** Whether admins see what tasks of other users say, and whole URLs of their webhooks. */
  readonly showsContents: boolean;
  readonly includeStacktrace: boolean;
  readonly log: Logger;
}

/** What admins see and end of what belongs to users; the guard lets nobody else come here. */
export function adminRoutes(
  router: Router,
  { tasks, webhooks, showsContents, includeStacktrace, log }: AdminRoutesOptions,
): void {
  /** Says in the log who ended what, because its user did not. */
  const note = (ctx: Context, message: string, fields: object): void =>
    log.info(message, { ...fields, admin: callerOf(ctx).userId, key: callerOf(ctx).keyId });
  if (tasks) {
    const show = (task: TaskRecord | ListedTask): object => ({
      user_id: task.user_id,
      ...(showsContents ? taskInfo(task, includeStacktrace) : withoutContents(task)),
      error: task.error,
    });

    router.get('/api/tasks', async (ctx) => {
      const found = await tasks.list(userOf(ctx), { status: statusOf(ctx), ...filterOf(ctx), ...pageOf(ctx) });
      ctx.body = { tasks: found.map(show) };
    });
    router.get('/api/tasks/count', async (ctx) => {
      const counts = await tasks.count(userOf(ctx));
      ctx.body = { ...counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) };
    });
    router.get('/api/tasks/:id', async (ctx) => {
      ctx.body = show(await answeredTask(tasks.get(taskIdOf(ctx), null)));
    });
    router.post('/api/tasks/:id/cancel', async (ctx) => {
      const task = await answeredTask(tasks.cancel(taskIdOf(ctx), null));
      note(ctx, 'task cancelled by an admin', { task: task.id, user: task.user_id });
      ctx.body = show(task);
    });
    router.delete('/api/tasks/:id', async (ctx) => {
      const task = await answeredTask(tasks.delete(taskIdOf(ctx), null));
      note(ctx, 'task removed by an admin', { task: task.id, user: task.user_id });
      ctx.body = show(task);
    });
  }
  if (webhooks) {
    const show = (webhook: WebhookRecord): object => ({
      user_id: webhook.user_id,
      ...webhookInfo(showsContents ? webhook : { ...webhook, url: new URL(webhook.url).origin }),
    });

    router.get('/api/webhooks', async (ctx) => {
      ctx.body = { webhooks: (await webhooks.listAll(userOf(ctx), pageOf(ctx))).map(show) };
    });
    router.delete('/api/webhooks/:id', async (ctx) => {
      const webhook = await answeredWebhook(webhooks.deleteAny(webhookIdOf(ctx, 'id')));
      note(ctx, 'webhook removed by an admin', { webhook: webhook.id, user: webhook.user_id });
      ctx.body = show(webhook);
    });
  }
}

/** A task without what its user said and got. */
function withoutContents(task: TaskRecord | ListedTask): object {
  const {
    data: _data,
    result: _result,
    omitted: _omitted,
    ...rest
  } = taskInfo({ ...task, data: 'null', result: null }, false) as Record<string, unknown>;
  return rest;
}

/** Whose things are meant; null is everybody's. */
function userOf(ctx: Context): string | null {
  return queryValue(ctx, 'user_id') ?? null;
}
