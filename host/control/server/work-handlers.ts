import type * as z from 'zod';
import { fail } from '../../core/errors.ts';
import type { LogFields } from '../../core/log/logger.ts';
import type { ListedDelivery, ListedTask, ListedWebhook, TaskAttempt, workOperations } from '../work-operations.ts';

type Operations = typeof workOperations;
type Args<O extends keyof Operations> = z.output<Operations[O]['args']>;
/** Who asked, for the log. */
type By = LogFields;

/** The tasks of all users. Methods with an id throw `NotFoundException`. */
export interface ControlledTasks {
  list(filter: Args<'tasks.list'>): Promise<ListedTask[]>;
  get(id: string): Promise<ListedTask>;
  attempts(id: string): Promise<TaskAttempt[]>;
  cancel(id: string, by: By): Promise<ListedTask>;
  retry(id: string, by: By): Promise<ListedTask>;
  delete(id: string, by: By): Promise<ListedTask>;
}

/** The webhooks of all users. Methods with an id throw `NotFoundException`. */
export interface ControlledWebhooks {
  list(filter: Args<'webhooks.list'>): Promise<ListedWebhook[]>;
  deliveries(id: string, filter: Omit<Args<'webhooks.deliveries'>, 'id'>): Promise<ListedDelivery[]>;
  replay(id: string, deliveryId: string, by: By): Promise<ListedDelivery>;
  enable(id: string, by: By): Promise<ListedWebhook>;
  delete(id: string, by: By): Promise<ListedWebhook>;
}

export type WorkHandlers = {
  readonly [O in keyof Operations]: (args: Args<O>) => Promise<z.infer<Operations[O]['value']>>;
};

/** A command has no key and no user of the application. */
const COMMAND: By = { key: 'command' };

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
    'tasks.cancel': async ({ id }) => tasks().cancel(id, COMMAND),
    'tasks.retry': async ({ id }) => tasks().retry(id, COMMAND),
    'tasks.remove': async ({ id }) => tasks().delete(id, COMMAND),
    'webhooks.list': async (filter) => webhooks().list(filter),
    'webhooks.deliveries': async ({ id, ...filter }) => webhooks().deliveries(id, filter),
    'webhooks.replay': async ({ id, delivery_id: delivery }) => webhooks().replay(id, delivery, COMMAND),
    'webhooks.enable': async ({ id }) => webhooks().enable(id, COMMAND),
    'webhooks.remove': async ({ id }) => webhooks().delete(id, COMMAND),
  };
}

function required<T>(part: T | undefined): T {
  if (part !== undefined) return part;
  throw fail('NotFoundException', 'the application has no tasks and no webhooks, because task_queue.enabled is false');
}
