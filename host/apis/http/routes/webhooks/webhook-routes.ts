import { whereOf } from '../../../openapi/index.ts';
import type { Context } from 'koa';
import type * as z from 'zod';
import { parseInput } from '../../../../endpoints/registry/index.ts';
import { type Delivery, type Webhook, WEBHOOK_ROUTES } from './webhook-definitions.ts';
import { OPERATION_ROUTES } from '../admin/operation-definitions.ts';
import {
  type DeliveryRecord,
  isAlertEvent,
  type UserWebhooks,
  type WebhookRecord,
  type Webhooks,
} from '../../../../data/webhooks/index.ts';
import { allowsPath } from '../../../../data/access/index.ts';
import { callerOf, isOperator } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { readBody } from '../../request/request-body.ts';
import { HttpError } from '../../response/error-body.ts';
import { isoTime, isoTimeOrNull } from '../iso-time.ts';
import { withDetail } from '../refusals.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

export interface WebhookRoutesOptions extends Pick<HttpAppOptions, 'limits' | 'tempDir'> {
  readonly webhooks: Webhooks;
}

/** Adds the routes of the original for webhooks, and the log of deliveries. */
export function webhookRoutes(router: HostRouter, { webhooks, limits, tempDir }: WebhookRoutesOptions): void {
  const webhooksOf = (ctx: Context): UserWebhooks => webhooks.as(callerOf(ctx));
  const inputOf = async <T extends z.ZodType>(ctx: Context, schema: T): Promise<z.output<T>> => {
    if (ctx.is('application/json', '+json') === false)
      throw new HttpError('UnsupportedMediaType', 'send a JSON object with the content type application/json');
    await using body = await readBody(ctx, limits, tempDir);
    return parseInput(schema, body.input);
  };

  serveRoute(router, WEBHOOK_ROUTES.create, async ({ ctx }) => {
    const { webhook, newSecret } = await webhooksOf(ctx).create({
      scopes: callerOf(ctx).scopes,
      followsAlerts: followsAlerts(ctx),
      ...(await inputOf(ctx, WEBHOOK_ROUTES.create.body)),
    });
    return { ...webhookInfo(webhook), ...(newSecret !== undefined && { secret: newSecret }) };
  });
  serveRoute(router, WEBHOOK_ROUTES.list, async ({ ctx }) => ({
    webhooks: (await webhooksOf(ctx).list()).map(webhookInfo),
  }));
  serveRoute(router, WEBHOOK_ROUTES.get, async ({ ctx, params }) =>
    webhookInfo(await withDetail(webhooksOf(ctx).get(params.webhook_id))),
  );
  serveRoute(router, WEBHOOK_ROUTES.update, async ({ ctx, params }) => {
    const { scopes } = callerOf(ctx);
    const change = { ...(await inputOf(ctx, WEBHOOK_ROUTES.update.body)), scopes, followsAlerts: followsAlerts(ctx) };
    return webhookInfo(await withDetail(webhooksOf(ctx).update(params.webhook_id, change)));
  });
  serveRoute(router, WEBHOOK_ROUTES.delete, async ({ ctx, params }) =>
    webhookInfo(await withDetail(webhooksOf(ctx).delete(params.webhook_id))),
  );
  serveRoute(router, WEBHOOK_ROUTES.deliveries, async ({ ctx, params, query }) => {
    const { status, page, per_page: perPage } = query;
    const found = await withDetail(webhooksOf(ctx).deliveries(params.webhook_id, { status, page, perPage }));
    return { deliveries: found.map(deliveryInfo) };
  });
  serveRoute(router, WEBHOOK_ROUTES.replay, async ({ ctx, params }) =>
    deliveryInfo(await withDetail(webhooksOf(ctx).replay(params.webhook_id, params.delivery_id))),
  );
}

/** Returns a webhook for clients: the keys of the original, and whether and why it is disabled. */
export function webhookInfo({
  id,
  url,
  events,
  disabled_at: disabledAt,
  disabled_reason: reason,
}: WebhookRecord): Webhook {
  return {
    id,
    url,
    events,
    enabled: disabledAt === null,
    disabled_at: isoTimeOrNull(disabledAt),
    disabled_reason: reason,
  };
}

/** Returns a delivery for clients. */
export function deliveryInfo({
  id,
  event,
  task_id: subject,
  status,
  due_at: due,
  lease_owner: owner,
  created_at: created,
  ended_at: ended,
  tries,
}: DeliveryRecord): Delivery {
  return {
    id,
    event,
    task_id: isAlertEvent(event) ? null : subject,
    alert_id: isAlertEvent(event) ? subject : null,
    status,
    created_at: isoTime(created),
    ended_at: isoTimeOrNull(ended),
    next_attempt_at: status === 'pending' && owner === null ? isoTime(due) : null,
    attempts: tries.map((one) => ({
      started_at: isoTime(one.started_at),
      ended_at: isoTime(one.ended_at),
      response_status: one.response_status,
      error: one.error,
    })),
  };
}

/** Whether the caller may receive events of alerts: whoever may also ask for the alerts. */
function followsAlerts(ctx: Context): boolean {
  return isOperator(ctx) && allowsPath(callerOf(ctx).scopes, whereOf(OPERATION_ROUTES.alerts).path);
}
