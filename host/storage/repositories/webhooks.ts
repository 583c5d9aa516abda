import { AanaError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Connection } from '../database.ts';
import { checkText } from '../errors.ts';
import { loadStatements } from '../statements.ts';

const sql = loadStatements('webhooks', ['insert', 'read', 'list', 'update', 'remove']);

/** Events that a webhook can be for. */
export const WEBHOOK_EVENTS = ['task.started', 'task.completed', 'task.failed'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface WebhookRecord {
  readonly id: string;
  /** Whose tasks it hears of; null where nobody is asked for a key. */
  readonly user_id: string | null;
  readonly url: string;
  /** Empty is every event. */
  readonly events: readonly WebhookEvent[];
}

type WebhookRow = Omit<WebhookRecord, 'events'> & { readonly events: string };

/** Webhooks, each seen by its user alone. */
export class WebhookRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `InvalidWebhookEventType`. */
  async save({ user_id: userId, url, events }: { readonly user_id: string | null; readonly url: string; readonly events?: readonly string[] | null }): Promise<WebhookRecord> {
    const webhook: WebhookRecord = { id: newId(), user_id: userId, url: checkText('url', url), events: checkedEvents(events ?? []) };
    await this.#connection.query(sql.insert, [webhook.id, userId, url, JSON.stringify(webhook.events), this.#connection.now()]);
    return webhook;
  }

  async read(id: string, userId: string | null): Promise<WebhookRecord | undefined> {
    const [row] = await this.#connection.query<WebhookRow>(sql.read, [id, userId]);
    return row && fromRow(row);
  }

  /** The oldest first; those for one event when it is given. */
  async list(userId: string | null, event?: WebhookEvent): Promise<WebhookRecord[]> {
    const all = (await this.#connection.query<WebhookRow>(sql.list, [userId])).map(fromRow);
    return event === undefined ? all : all.filter(({ events }) => events.length === 0 || events.includes(event));
  }

  /** What is not given stays. Gives nothing when there is no such webhook of this user. */
  async update(id: string, userId: string | null, change: { readonly url?: string | undefined; readonly events?: readonly string[] | undefined }): Promise<WebhookRecord | undefined> {
    const before = await this.read(id, userId);
    if (!before) return undefined;
    const after: WebhookRecord = { ...before, url: checkText('url', change.url ?? before.url), events: checkedEvents(change.events ?? before.events) };
    const rows = await this.#connection.query(sql.update, [id, userId, after.url, JSON.stringify(after.events), this.#connection.now()]);
    return rows.length > 0 ? after : undefined;
  }

  /** Whether it was there. */
  async delete(id: string, userId: string | null): Promise<boolean> {
    return (await this.#connection.query(sql.remove, [id, userId])).length > 0;
  }
}

function checkedEvents(events: readonly string[]): readonly WebhookEvent[] {
  for (const event of events) {
    if (!(WEBHOOK_EVENTS as readonly string[]).includes(event)) {
      throw new AanaError('InvalidWebhookEventType', 'bad-request', `${JSON.stringify(event)} is no event; events are ${WEBHOOK_EVENTS.join(', ')}`, { data: { event_type: event } });
    }
  }
  return events as readonly WebhookEvent[];
}

function fromRow(row: WebhookRow): WebhookRecord {
  return { ...row, events: JSON.parse(row.events) as WebhookEvent[] };
}
