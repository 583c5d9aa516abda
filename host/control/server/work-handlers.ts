import type * as z from 'zod';
import { fail } from '../../core/errors.ts';
import type { ListedDelivery, ListedTask, ListedWebhook, TaskAttempt, workOperations } from '../work-operations.ts';

type Operations = typeof workOperations;
type Args<O extends keyof Operations> = z.output<Operations[O]['args']>;

/** The tasks of all users. Methods with an id throw `NotFoundException`. */
export interface ControlledTasks {
  list(filter: Args<'tasks.list'>): Promise<ListedTask[]>;
  get(id: string): Promise<ListedTask>;
  attempts(id: string): Promise<TaskAttempt[]>;
  cancel(id: string): Promise<ListedTask>;
  retry(id: string): Promise<ListedTask>;
  delete(id: string): Promise<ListedTask>;
}

/** The webhooks of all users. Methods with an id throw `NotFoundException`. */
export interface ControlledWebhooks {
  list(filter: Args<'webhooks.list'>): Promise<ListedWebhook[]>;
  deliveries(id: string, filter: Omit<Args<'webhooks.deliveries'>, 'id'>): Promise<ListedDelivery[]>;
  replay(id: string, deliveryId: string): Promise<ListedDelivery>;
  enable(id: string): Promise<ListedWebhook>;
  delete(id: string): Promise<ListedWebhook>;
}

export type WorkHandlers = {
  readonly [O in keyof Operations]: (args: Args<O>) => Promise<z.infer<Operations[O]['value']>>;
};

/** Returns the operations on the tasks and webhooks of one application. */
export function workHandlers(app: {
  readonly tasks?: ControlledTasks | undefined;
  readonly webhooks?: ControlledWebhooks | undefined;
}): WorkHandlers {
  const tasks = (): ControlledTasks => required(app.tasks);
  const webhooks = (): ControlledWebhooks => required(app.webhooks);
  return {
    'tasks.list': async (filter) => tasks().list(filter),
    'tasks.get': async ({ id }) => ({ task: await tasks().get(id), attempts: await tasks().attempts(id) }),
    'tasks.cancel': async ({ id }) => tasks().cancel(id),
    'tasks.retry': async ({ id }) => tasks().retry(id),
    'tasks.remove': async ({ id }) => tasks().delete(id),
    'webhooks.list': async (filter) => webhooks().list(filter),
    'webhooks.deliveries': async ({ id, ...filter }) => webhooks().deliveries(id, filter),
    'webhooks.replay': async ({ id, delivery_id: delivery }) => webhooks().replay(id, delivery),
    'webhooks.enable': async ({ id }) => webhooks().enable(id),
    'webhooks.remove': async ({ id }) => webhooks().delete(id),
  };
}

function required<T>(part: T | undefined): T {
  if (part !== undefined) return part;
  throw fail('NotFoundException', 'the application has no tasks and no webhooks, because task_queue.enabled is false');
}
