import type { Router } from '@koa/router';
import type { Context } from 'koa';
import * as z from 'zod';
import { AanaError } from '../../core/errors.ts';
import { parseInput } from '../../endpoints/index.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  WEBHOOK_EVENTS,
  type WebhookRecord,
  type Webhooks,
} from '../../webhooks/index.ts';
import { callerOf } from '../guards/caller.ts';
import { HttpError } from '../response/error-body.ts';
import type { HttpAppOptions } from '../options.ts';
import { pageOf } from '../request/page.ts';
import { badQuery, queryValue } from '../request/query.ts';
import { readBody } from '../request/request-body.ts';

export interface WebhookRoutesOptions extends Pick<HttpAppOptions, 'limits' | 'tempDir'> {
  readonly webhooks: Webhooks;
}

const ID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

const Events = z.array(z.enum(WEBHOOK_EVENTS)).max(100);
const Secret = z
  .string()
  .min(16)
  .max(255)
  .regex(/^[\x20-\x7e]*$/, 'a secret has printable characters of ASCII');
const NewWebhook = z.strictObject({ url: z.string(), events: Events.default([]), secret: Secret.optional() });
const WebhookChange = z.strictObject({
  url: z.string().nullish(),
  events: Events.nullish(),
  secret: Secret.nullish(),
  enabled: z.boolean().nullish(),
});

/** The routes of the original for webhooks, and the log of deliveries. */
export function webhookRoutes(router: Router, { webhooks, limits, tempDir }: WebhookRoutesOptions): void {
  const inputOf = async <T extends z.ZodType>(ctx: Context, schema: T): Promise<z.output<T>> => {
    if (ctx.is('application/json', '+json') === false)
      throw new HttpError('UnsupportedMediaType', 415, 'send a JSON object, with the content type application/json');
    await using body = await readBody(ctx, limits, tempDir);
    return parseInput(schema, body.input);
  };

  router.post('/webhooks', async (ctx) => {
    const { webhook, newSecret } = await webhooks.create({
      userId: userOf(ctx),
      scopes: callerOf(ctx).scopes,
      ...(await inputOf(ctx, NewWebhook)),
    });
    ctx.status = 201;
    ctx.body = { ...webhookInfo(webhook), ...(newSecret !== undefined && { secret: newSecret }) };
  });
  router.get('/webhooks', async (ctx) => {
    ctx.body = { webhooks: (await webhooks.list(userOf(ctx))).map(webhookInfo) };
  });
  router.get('/webhooks/:id', async (ctx) => {
    ctx.body = webhookInfo(await answeredWebhook(webhooks.get(webhookIdOf(ctx, 'id'), userOf(ctx))));
  });
  router.put('/webhooks/:id', async (ctx) => {
    const id = webhookIdOf(ctx, 'id');
    ctx.body = webhookInfo(
      await answeredWebhook(
        webhooks.update(id, userOf(ctx), { ...(await inputOf(ctx, WebhookChange)), scopes: callerOf(ctx).scopes }),
      ),
    );
  });
  router.delete('/webhooks/:id', async (ctx) => {
    ctx.body = webhookInfo(await answeredWebhook(webhooks.delete(webhookIdOf(ctx, 'id'), userOf(ctx))));
  });
  router.get('/webhooks/:id/deliveries', async (ctx) => {
    const found = await answeredWebhook(
      webhooks.deliveries(webhookIdOf(ctx, 'id'), userOf(ctx), { status: statusOf(ctx), ...pageOf(ctx) }),
    );
    ctx.body = { deliveries: found.map(deliveryInfo) };
  });
  router.post('/webhooks/:id/deliveries/:delivery/replay', async (ctx) => {
    ctx.body = deliveryInfo(
      await answeredWebhook(webhooks.replay(webhookIdOf(ctx, 'id'), webhookIdOf(ctx, 'delivery'), userOf(ctx))),
    );
  });
}

/** The keys of the original, and whether it is disabled and why. */
export function webhookInfo({
  id,
  url,
  events,
  disabled_at: disabledAt,
  disabled_reason: reason,
}: WebhookRecord): object {
  return { id, url, events, enabled: disabledAt === null, disabled_at: time(disabledAt), disabled_reason: reason };
}

function deliveryInfo({
  id,
  event,
  task_id: task,
  status,
  due_at: due,
  lease_owner: owner,
  created_at: created,
  ended_at: ended,
  tries,
}: DeliveryRecord): object {
  return {
    id,
    event,
    task_id: task,
    status,
    created_at: time(created),
    ended_at: time(ended),
    next_attempt_at: status === 'pending' && owner === null ? time(due) : null,
    attempts: tries.map((one) => ({
      started_at: time(one.started_at),
      ended_at: time(one.ended_at),
      response_status: one.response_status,
      error: one.error,
    })),
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function userOf(ctx: Context): string | null {
  return callerOf(ctx).userId;
}

/** In an error of these routes the original has `detail`. */
export async function answeredWebhook<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    if (error.kind === 'not-found')
      throw notFound(
        error.data,
        (error.data as { table?: string }).table === 'webhook_deliveries' ? 'Delivery' : 'Webhook',
      );
    if (error.kind === 'conflict')
      throw new HttpError(error.name, 409, error.message, { data: error.data, detail: error.message });
    throw error;
  }
}

function notFound(data: unknown, what: string): HttpError {
  return new HttpError('NotFoundException', 404, `${what} not found`, { data, detail: `${what} not found` });
}

export function webhookIdOf(ctx: Context, name: 'id' | 'delivery'): string {
  const { [name]: id = '' } = (ctx as Context & { readonly params: Readonly<Record<string, string>> }).params;
  if (!ID.test(id))
    throw notFound(
      { table: name === 'id' ? 'webhooks' : 'webhook_deliveries', id },
      name === 'id' ? 'Webhook' : 'Delivery',
    );
  const hex = id.toLowerCase().replaceAll('-', '');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function statusOf(ctx: Context): DeliveryStatus | undefined {
  const text = queryValue(ctx, 'status');
  if (text === undefined) return undefined;
  const status = DELIVERY_STATUSES.find((one) => one === text);
  if (status === undefined)
    throw badQuery('status', 'enum', `Input should be one of ${DELIVERY_STATUSES.join(', ')}`, text);
  return status;
}
