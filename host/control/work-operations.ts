import * as z from 'zod';

/** A task of any user. Further keys are those of the route `/api/tasks`. */
const ListedTask = z.looseObject({
  id: z.string(),
  user_id: z.nullable(z.string()),
  endpoint: z.string(),
  status: z.string(),
  progress: z.number(),
  num_retries: z.int(),
  created_at: z.string(),
  completed_at: z.nullable(z.string()),
  /** Name of the error that a failed task ended with. */
  error: z.nullable(z.string()),
});
export type ListedTask = z.infer<typeof ListedTask>;

/** One attempt at a task. Further keys are those of the route `/api/tasks/{task_id}/attempts`. */
const TaskAttempt = z.looseObject({
  attempt: z.int(),
  host: z.string(),
  started_at: z.string(),
  ended_at: z.nullable(z.string()),
  outcome: z.nullable(z.string()),
  error: z.nullable(z.record(z.string(), z.unknown())),
});
export type TaskAttempt = z.infer<typeof TaskAttempt>;

/** A webhook of any user. Further keys are those of the route `/api/webhooks`. */
const ListedWebhook = z.looseObject({
  id: z.string(),
  user_id: z.nullable(z.string()),
  url: z.string(),
  events: z.array(z.string()).readonly(),
  enabled: z.boolean(),
  disabled_reason: z.nullable(z.string()),
});
export type ListedWebhook = z.infer<typeof ListedWebhook>;

/** A delivery. Further keys are those of the route `/api/webhooks/{webhook_id}/deliveries`. */
const ListedDelivery = z.looseObject({
  id: z.string(),
  event: z.string(),
  /** Null for an event of an alert. */
  task_id: z.string().nullable(),
  status: z.string(),
  created_at: z.string(),
  next_attempt_at: z.nullable(z.string()),
  attempts: z
    .array(
      z.object({
        started_at: z.string(),
        ended_at: z.string(),
        response_status: z.nullable(z.int()),
        error: z.nullable(z.string()),
      }),
    )
    .readonly(),
});
export type ListedDelivery = z.infer<typeof ListedDelivery>;

/** The states that a filter may name. The application checks them again, because it knows all. */
const TaskStatus = z.enum(['created', 'assigned', 'running', 'not_finished', 'completed', 'failed', 'cancelled']);
const DeliveryStatus = z.enum(['pending', 'delivered', 'failed']);

const page = { page: z.int().min(1).default(1), per_page: z.int().min(1).max(1000).default(100) };
const text = z.string().min(1).max(255).optional();
const task = z.strictObject({ id: z.uuid() });
const webhook = z.strictObject({ id: z.uuid() });

/** Operations on the tasks and webhooks of all users. What admins do not see by HTTP, these do not show either. */
export const workOperations = {
  'tasks.list': {
    args: z.strictObject({ user_id: text, status: TaskStatus.optional(), endpoint: text, error: text, ...page }),
    value: z.array(ListedTask),
    streams: false,
  },
  'tasks.get': {
    args: task,
    value: z.object({ task: ListedTask, attempts: z.array(TaskAttempt) }),
    streams: false,
  },
  'tasks.cancel': { args: task, value: ListedTask, streams: false },
  'tasks.retry': { args: task, value: ListedTask, streams: false },
  'tasks.remove': { args: task, value: ListedTask, streams: false },
  'webhooks.list': {
    args: z.strictObject({ user_id: text, ...page }),
    value: z.array(ListedWebhook),
    streams: false,
  },
  'webhooks.deliveries': {
    args: webhook.extend({ status: DeliveryStatus.optional(), ...page }),
    value: z.array(ListedDelivery),
    streams: false,
  },
  'webhooks.replay': { args: webhook.extend({ delivery_id: z.uuid() }), value: ListedDelivery, streams: false },
  'webhooks.enable': { args: webhook, value: ListedWebhook, streams: false },
  'webhooks.remove': { args: webhook, value: ListedWebhook, streams: false },
} as const;
