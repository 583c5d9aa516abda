import * as z from 'zod';
import { DELIVERY_STATUSES, WEBHOOK_EVENTS } from '../../../../data/webhooks/index.ts';
import { answers, DATABASE_FAILURES, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { type AnswerOf, choice, Id, PAGE, Time, TimeOrNull } from '../../../openapi/values.ts';

const Url = z
  .string()
  .max(65_536)
  .meta({ format: 'uri', maxLength: 2083, description: 'The http or https address that events are posted to.' });
const Events = z
  .array(z.enum(WEBHOOK_EVENTS))
  .max(100)
  .describe(
    'Events that the webhook receives. An empty list means every event of tasks. Events of alerts are for admins.',
  );
const Secret = z
  .string()
  .min(16)
  .max(255)
  .regex(/^[\x20-\x7e]*$/, 'a secret has printable characters of ASCII')
  .describe('Signs deliveries. The server shows a secret only if it has made it, and only once.');

const NewWebhook = z.strictObject({ url: Url, events: Events.default([]), secret: Secret.optional() });
const WebhookChanges = z.strictObject({
  url: Url.nullish(),
  events: Events.nullish(),
  secret: Secret.nullish(),
  enabled: z.boolean().nullish(),
});

export const Webhook = z.object({
  id: Id,
  url: Url,
  events: Events,
  enabled: z.boolean().describe('A disabled webhook is sent nothing. Its events wait until it is enabled.'),
  disabled_at: TimeOrNull,
  disabled_reason: z.string().nullable(),
});
export type Webhook = AnswerOf<typeof Webhook>;

const CreatedWebhook = Webhook.extend({
  secret: z
    .string()
    .optional()
    .describe('The secret that the server has made because there was no other one. It is shown only here.'),
});

export const Delivery = z.object({
  id: Id.describe('The header webhook-id, which is the same for every attempt.'),
  event: z.enum(WEBHOOK_EVENTS),
  task_id: Id.nullable().describe('Null for an event of an alert.'),
  alert_id: Id.nullable().describe('Null for an event of a task.'),
  status: z.enum(DELIVERY_STATUSES),
  created_at: Time,
  ended_at: TimeOrNull,
  next_attempt_at: TimeOrNull.describe('Null while an attempt runs, and after the last one.'),
  attempts: z.array(
    z.object({
      started_at: Time,
      ended_at: Time,
      response_status: z.int().nullable(),
      error: z.string().nullable(),
    }),
  ),
});
export type Delivery = AnswerOf<typeof Delivery>;

/** The parameters that choose deliveries of a webhook. */
export const DELIVERY_FILTER = z.object({ status: choice(DELIVERY_STATUSES), ...PAGE });

const aWebhook = answers('The webhook.', Webhook);

/** The routes for webhooks. */
export const WEBHOOK_ROUTES = {
  list: {
    id: 'list_webhooks',
    at: 'get /webhooks',
    summary: 'Webhooks, the oldest first',
    answers: answers('The webhooks.', z.object({ webhooks: z.array(Webhook) })),
    fails: DATABASE_FAILURES,
  },
  create: {
    id: 'create_webhook',
    at: 'post /webhooks',
    summary: 'Receive the events of tasks, and as an admin those of alerts',
    body: NewWebhook,
    answers: { 201: { description: 'The webhook.', schema: CreatedWebhook } },
    fails: [403, 409, ...DATABASE_FAILURES],
  },
  get: {
    id: 'get_webhook',
    at: 'get /webhooks/{webhook_id}',
    summary: 'A webhook',
    answers: aWebhook,
    fails: [404, ...DATABASE_FAILURES],
  },
  update: {
    id: 'update_webhook',
    at: 'put /webhooks/{webhook_id}',
    summary: 'Change, disable or enable a webhook; values that are null or absent stay as they are',
    body: WebhookChanges,
    answers: aWebhook,
    fails: [403, 404, ...DATABASE_FAILURES],
  },
  delete: {
    id: 'delete_webhook',
    at: 'delete /webhooks/{webhook_id}',
    summary: 'Remove a webhook and its waiting deliveries',
    answers: answers('The removed webhook.', Webhook),
    fails: [404, ...DATABASE_FAILURES],
  },
  deliveries: {
    id: 'list_deliveries',
    at: 'get /webhooks/{webhook_id}/deliveries',
    summary: 'Deliveries that were sent or wait, the newest first',
    query: DELIVERY_FILTER,
    answers: answers('The deliveries.', z.object({ deliveries: z.array(Delivery) })),
    fails: [404, 422, ...DATABASE_FAILURES],
  },
  replay: {
    id: 'replay_delivery',
    at: 'post /webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
    summary: 'Send a delivery once more',
    answers: answers('The delivery.', Delivery),
    fails: [404, 409, ...DATABASE_FAILURES],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
