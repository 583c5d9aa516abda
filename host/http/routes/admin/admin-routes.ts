import type { Context } from 'koa';
import type { LogFields, Logger } from '../../../core/log/logger.ts';
import { ADMIN_TASK_ROUTES, ADMIN_WEBHOOK_ROUTES } from './admin-definitions.ts';
import type { TaskQueue } from '../../../tasks/index.ts';
import type { Webhooks } from '../../../webhooks/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { traceparentOf } from '../../request/request-context.ts';
import { withDetail } from '../refusals.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import { sendTaskEvents } from '../tasks/task-routes.ts';
import { AnyTasks } from './any-tasks.ts';
import { AnyWebhooks } from './any-webhooks.ts';

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
  if (tasks) taskRoutesForAdmins(router, new AnyTasks({ ...options, tasks }));
  if (webhooks) webhookRoutesForAdmins(router, new AnyWebhooks({ ...options, webhooks }));
}

function taskRoutesForAdmins(router: HostRouter, tasks: AnyTasks): void {
  serveRoute(router, ADMIN_TASK_ROUTES.list, async ({ ctx, query }) => ({
    tasks: await tasks.list(query, traceparentOf(ctx)),
  }));
  serveRoute(router, ADMIN_TASK_ROUTES.count, ({ ctx, query }) => tasks.count(query.user_id, traceparentOf(ctx)));
  serveRoute(router, ADMIN_TASK_ROUTES.get, ({ ctx, params }) =>
    withDetail(tasks.get(params.task_id, traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_TASK_ROUTES.attempts, async ({ ctx, params }) => ({
    attempts: await withDetail(tasks.attempts(params.task_id, traceparentOf(ctx))),
  }));
  serveRoute(router, ADMIN_TASK_ROUTES.watch, ({ ctx, params, query }) =>
    sendTaskEvents(ctx, query.last_event_id, (wanted) => withDetail(tasks.watch(params.task_id, wanted))),
  );
  serveRoute(router, ADMIN_TASK_ROUTES.cancel, ({ ctx, params }) =>
    withDetail(tasks.cancel(params.task_id, adminOf(ctx), traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_TASK_ROUTES.retry, ({ ctx, params }) =>
    withDetail(tasks.retry(params.task_id, adminOf(ctx), traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_TASK_ROUTES.delete, ({ ctx, params }) =>
    withDetail(tasks.delete(params.task_id, adminOf(ctx), traceparentOf(ctx))),
  );
}

function webhookRoutesForAdmins(router: HostRouter, webhooks: AnyWebhooks): void {
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.list, async ({ ctx, query }) => ({
    webhooks: await webhooks.list(query, traceparentOf(ctx)),
  }));
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.get, ({ ctx, params }) =>
    withDetail(webhooks.get(params.webhook_id, traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.deliveries, async ({ ctx, params, query }) => ({
    deliveries: await withDetail(webhooks.deliveries(params.webhook_id, query, traceparentOf(ctx))),
  }));
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.replay, ({ ctx, params }) =>
    withDetail(webhooks.replay(params.webhook_id, params.delivery_id, adminOf(ctx), traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.enable, ({ ctx, params }) =>
    withDetail(webhooks.enable(params.webhook_id, adminOf(ctx), traceparentOf(ctx))),
  );
  serveRoute(router, ADMIN_WEBHOOK_ROUTES.delete, ({ ctx, params }) =>
    withDetail(webhooks.delete(params.webhook_id, adminOf(ctx), traceparentOf(ctx))),
  );
}

/** Returns the admin who sent a request, for the log. */
function adminOf(ctx: Context): LogFields {
  const { userId, keyId } = callerOf(ctx);
  return { admin: userId, key: keyId };
}
