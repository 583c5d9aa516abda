import type { Connection } from '../database.ts';
import { loadStatements } from '../statements.ts';
import { type TaskHappening, WebhookDeliveryRepository } from './webhook-deliveries.ts';

const sql = loadStatements('task-log', ['addEvent']);

/** What listeners of the database are told when a task can be taken; of others they are told the id. */
export const TASKS_WAITING = 'waiting';

/** What listeners are told, with the id, besides the id itself, when a task is cancelled. */
export const TASK_CANCELLED = 'cancelled ';

/** Tells watchers, hosts and webhooks what happens to tasks, in the transaction in which it happens. */
export class TaskLog {
  readonly #connection: Connection;
  readonly #deliveries: WebhookDeliveryRepository;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#deliveries = new WebhookDeliveryRepository(connection);
  }

  /** Adds an event, and tells those who watch the task. */
  async tell(id: string, event: string, data: object): Promise<void> {
    await Promise.all([this.add(id, event, JSON.stringify(data)), this.#connection.notify(id)]);
  }

  /** Adds an event; `data` is JSON. Nobody is told of it. */
  async add(id: string, event: string, data: string): Promise<void> {
    await this.#connection.query(sql.addEvent, [id, event, data, this.#connection.now()]);
  }

  /** Tells hosts that a task can be taken. */
  tellHosts(): Promise<void> {
    return this.#connection.notify(TASKS_WAITING);
  }

  /** Keeps a message for each webhook that is for what happened. */
  tellWebhooks(happening: TaskHappening, limits?: { readonly maxBytes?: number | undefined }): Promise<void> {
    return this.#deliveries.add(happening, limits);
  }
}
