import * as z from 'zod';
import { MAX_NAME } from '../../../../base/schemas/index.ts';
import { answers, DATABASE_FAILURES, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { Task } from '../../../openapi/deferral.ts';
import { Attempt, TASK_FILTER, TaskCounts, TaskEvent, WATCH_QUERY } from '../tasks/task-definitions.ts';
import { type AnswerOf, PAGE } from '../../../openapi/values.ts';
import { Delivery, DELIVERY_FILTER, Webhook } from '../webhooks/webhook-definitions.ts';

const UserId = z.string().nullable().describe('The owner; null for work without an API key.');
const HIDDEN = 'Present if `api_service.admins_see_contents` is set.';

/** A task of any user. Its contents are optional, because admins see them only if the operator allows it. */
const AnyTask = Task.omit({ data: true, result: true, omitted: true }).extend({
  user_id: UserId,
  error: z.string().nullable().describe('Name of the error that a failed task ended with.'),
  data: z.unknown().optional().describe(`The input. ${HIDDEN}`),
  result: z.unknown().optional().describe(`The output, or the error of a failed task. ${HIDDEN}`),
  omitted: Task.shape.omitted,
});
export type AnyTask = AnswerOf<typeof AnyTask>;

const AnyAttempt = Attempt.extend({
  error: z
    .looseObject({})
    .nullable()
    .describe('The error that it failed with; only its name unless `api_service.admins_see_contents` is set.'),
});
export type AnyAttempt = AnswerOf<typeof AnyAttempt>;

const AnyWebhook = Webhook.extend({
  user_id: UserId,
  url: z.string().meta({
    format: 'uri',
    description: 'Scheme, host and port; the whole URL if `api_service.admins_see_contents` is set.',
  }),
});
export type AnyWebhook = AnswerOf<typeof AnyWebhook>;

const OF_USER = {
  user_id: z.string().max(MAX_NAME).optional().describe('Only the work of this user. Default: all users.'),
};

const aTask = answers('The task.', AnyTask);

/** The routes over the tasks of all users. */
export const ADMIN_TASK_ROUTES = {
  list: {
    id: 'list_all_tasks',
    at: 'get /api/tasks',
    summary: 'Tasks of all users, the newest first',
    query: z.object({ ...OF_USER, ...TASK_FILTER }),
    answers: answers('The tasks.', z.object({ tasks: z.array(AnyTask) })),
    fails: [422, ...DATABASE_FAILURES],
  },
  count: {
    id: 'count_all_tasks',
    at: 'get /api/tasks/count',
    summary: 'Number of tasks of all users by status',
    query: z.object(OF_USER),
    answers: answers('The numbers.', TaskCounts),
    fails: DATABASE_FAILURES,
  },
  get: {
    id: 'get_any_task',
    at: 'get /api/tasks/{task_id}',
    summary: 'A task of any user',
    answers: aTask,
    fails: [404, ...DATABASE_FAILURES],
  },
  attempts: {
    id: 'list_any_task_attempts',
    at: 'get /api/tasks/{task_id}/attempts',
    summary: 'The attempts of a task of any user, with their outcomes',
    answers: answers('The attempts.', z.object({ attempts: z.array(AnyAttempt) })),
    fails: [404, ...DATABASE_FAILURES],
  },
  watch: {
    id: 'watch_any_task',
    at: 'get /api/tasks/{task_id}/events',
    summary:
      'The events of a task of any user, as server-sent events; the data of `chunk` is null unless ' +
      '`api_service.admins_see_contents` is set',
    query: WATCH_QUERY,
    answers: { 200: { description: 'Events until the task has ended.', schema: TaskEvent, type: 'text/event-stream' } },
    fails: [404, 422, ...DATABASE_FAILURES],
  },
  delete: {
    id: 'delete_any_task',
    at: 'delete /api/tasks/{task_id}',
    summary: 'Remove a task of any user that no host runs',
    answers: answers('The removed task.', AnyTask),
    fails: [400, 404, ...DATABASE_FAILURES],
  },
  cancel: {
    id: 'cancel_any_task',
    at: 'post /api/tasks/{task_id}/cancel',
    summary: 'Cancel a task of any user that waits or runs',
    answers: aTask,
    fails: [404, 409, ...DATABASE_FAILURES],
  },
  retry: {
    id: 'retry_any_task',
    at: 'post /api/tasks/{task_id}/retry',
    summary: 'Give a failed task of any user new attempts',
    answers: aTask,
    fails: [400, 404, 429, ...DATABASE_FAILURES],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;

/** The routes over the webhooks of all users. */
export const ADMIN_WEBHOOK_ROUTES = {
  list: {
    id: 'list_all_webhooks',
    at: 'get /api/webhooks',
    summary: 'Webhooks of all users, the oldest first',
    query: z.object({ ...OF_USER, ...PAGE }),
    answers: answers('The webhooks.', z.object({ webhooks: z.array(AnyWebhook) })),
    fails: [422, ...DATABASE_FAILURES],
  },
  get: {
    id: 'get_any_webhook',
    at: 'get /api/webhooks/{webhook_id}',
    summary: 'A webhook of any user',
    answers: answers('The webhook.', AnyWebhook),
    fails: [404, ...DATABASE_FAILURES],
  },
  deliveries: {
    id: 'list_any_deliveries',
    at: 'get /api/webhooks/{webhook_id}/deliveries',
    summary: 'Deliveries of a webhook of any user that were sent or wait, the newest first',
    query: DELIVERY_FILTER,
    answers: answers('The deliveries.', z.object({ deliveries: z.array(Delivery) })),
    fails: [404, 422, ...DATABASE_FAILURES],
  },
  replay: {
    id: 'replay_any_delivery',
    at: 'post /api/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
    summary: 'Send a delivery of a webhook of any user once more',
    answers: answers('The delivery.', Delivery),
    fails: [404, 409, ...DATABASE_FAILURES],
  },
  enable: {
    id: 'enable_any_webhook',
    at: 'post /api/webhooks/{webhook_id}/enable',
    summary: 'Enable a webhook of any user, forget its failures, and send its waiting deliveries',
    answers: answers('The webhook.', AnyWebhook),
    fails: [404, ...DATABASE_FAILURES],
  },
  delete: {
    id: 'delete_any_webhook',
    at: 'delete /api/webhooks/{webhook_id}',
    summary: 'Remove a webhook of any user and its waiting deliveries',
    answers: answers('The removed webhook.', AnyWebhook),
    fails: [404, ...DATABASE_FAILURES],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
