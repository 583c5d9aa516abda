import type { Context } from 'koa';
import type { Logger } from '../../../../base/core/log/logger.ts';
import { ADMIN_TASK_ROUTES, ADMIN_WEBHOOK_ROUTES } from './admin-definitions.ts';
import type { TaskQueue } from '../../../../data/tasks/index.ts';
import type { Webhooks } from '../../../../data/webhooks/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { withDetail } from '../refusals.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import { sendTaskEvents } from '../tasks/task-routes.ts';
import { AnyTasks } from './any-tasks.ts';
import { AnyWebhooks } from './any-webhooks.ts';
import type { Operator } from './operator.ts';

export interface AdminRoutesOptions {
  readonly tasks?: TaskQueue | undefined;
  readonly webhooks?: Webhooks | undefined;
  /** Whether admins see the contents of other users' tasks, and whole URLs of their webhooks. */
  readonly showsContents: boolean;
  readonly includeStacktrace: boolean;
  readonly log: Logger;
}

/** Adds the routes with which admins see, end and repeat the work of all users. The guard refuses other callers. */
export function adminRoutes(router: HostRouter, { tasks, webhooks, ...options }: AdminRoutesOptions): void {
  if (tasks) taskRoutesForAdmins(router, (ctx) => new AnyTasks({ ...options, tasks }, operatorOf(ctx)));
  if (webhooks) webhookRoutesForAdmins(router, (ctx) => new AnyWebhooks({ ...options, webhooks }, operatorOf(ctx)));
}

function taskRoutesForAdmins(router: HostRouter, tasksOf: (ctx: Context) => AnyTasks): void {
  serveRoute(router, ADMIN_TASK_ROUTES.list, async ({ ctx, query }) => ({
    tasks: await tasksOf(ctx).list(query),
  }));
  serveRoute(router, ADMIN_TASK_ROUTES.count, ({ ctx, query }) => tasksOf(ctx).count(query.user_id));
  serveRoute(router, ADMIN_TASK_ROUTES.get, ({ ctx, params }) => withDetail(tasksOf(ctx).get(params.task_id)));
  serveRoute(router, ADMIN_TASK_ROUTES.attempts, async ({ ctx, params }) => ({
    attempts: await withDetail(tasksOf(ctx).attempts(params.task_id)),
  }));
  serveRoute(router, ADMIN_TASK_ROUTES.watch, ({ ctx, params, query }) =>
    sendTaskEvents(ctx, query.last_event_id, (wanted) => withDetail(tasksOf(ctx).watch(params.task_id, wanted))),
  );
  serveRoute(router, ADMIN_TASK_ROUTES.cancel, ({ ctx, params }) => withDetail(tasksOf(ctx).cancel(params.task_id)));
  serveRoute(router, ADMIN_TASK_ROUTES.retry, ({ ctx, params }) => withDetail(tasksOf(ctx).retry(params.task_id)));
  serveRoute(router, ADMIN_TASK_ROUTES.delete, ({ ctx, params }) => withDetail(tasksOf(ctx).delete(params.task_id)));
}

function webhookRoutesForAdmins(router: HostRouter, webhooksOf: (ctx: Context) => AnyWebhooks): void {
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.list, async ({ ctx, query }) => ({
    webhooks: await webhooksOf(ctx).list(query),
  }));
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.get, ({ ctx, params }) => withDetail(webhooksOf(ctx).get(params.webhook_id)));
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.deliveries, async ({ ctx, params, query }) => ({
    deliveries: await withDetail(webhooksOf(ctx).deliveries(params.webhook_id, query)),
  }));
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.replay, ({ ctx, params }) =>
    withDetail(webhooksOf(ctx).replay(params.webhook_id, params.delivery_id)),
  );
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.enable, ({ ctx, params }) =>
    withDetail(webhooksOf(ctx).enable(params.webhook_id)),
  );
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.delete, ({ ctx, params }) =>
    withDetail(webhooksOf(ctx).delete(params.webhook_id)),
  );
}

function operatorOf(ctx: Context): Operator {
  const { userId, keyId, traceparent } = callerOf(ctx);
  return { by: { admin: userId, key: keyId }, traceparent };
}
