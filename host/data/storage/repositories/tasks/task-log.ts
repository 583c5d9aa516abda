import type { Connection } from '../../database.ts';
import { loadStatements, Repository } from '../../statements.ts';
import { type TaskHappening, WebhookDeliveryRepository } from '../webhook-deliveries.ts';

const sql = loadStatements('task-log', ['addEvent']);

/** The notification that a task can be claimed. Notifications of events are the id of the task. */
export const TASKS_WAITING = 'waiting';

/** The beginning of the notification that a task was cancelled. The id of the task follows. */
export const TASK_CANCELLED = 'cancelled ';

/** Stores events of tasks for watchers and webhooks, and notifies hosts, in the transaction of the event. */
export class TaskLog extends Repository {
  readonly #deliveries: WebhookDeliveryRepository;

  constructor(connection: Connection) {
    super(connection);
    this.#deliveries = new WebhookDeliveryRepository(connection);
  }

  /** Adds an event, and notifies the watchers of the task. */
  async tell(id: string, event: string, data: object): Promise<void> {
    await Promise.all([this.add(id, event, JSON.stringify(data)), this.connection.notify(id)]);
  }

  /** Adds an event without a notification; `data` is JSON. */
  async add(id: string, event: string, data: string): Promise<void> {
    await this.connection.query(sql.addEvent, [id, event, data, this.connection.now()]);
  }

  /** Notifies hosts that a task can be claimed. */
  tellHosts(): Promise<void> {
    return this.connection.notify(TASKS_WAITING);
  }

  /** Adds a message to the outbox for each webhook of this event. */
  tellWebhooks(happening: TaskHappening, limits?: { readonly maxBytes?: number | undefined }): Promise<void> {
    return this.#deliveries.add(happening, limits);
  }
}
