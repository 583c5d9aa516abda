import { AanaError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Connection } from '../database.ts';
import { checkText } from '../errors.ts';
import { loadStatements } from '../statements.ts';

const sql = loadStatements('webhooks', [
  'insert',
  'read',
  'list',
  'listAll',
  'update',
  'enable',
  'disable',
  'remove',
  'removeAny',
  'succeeded',
  'failed',
  'pause',
  'resume',
  'secretOfUser',
]);

/** Events that a webhook can be for: those of the original, and two of ours. */
export const WEBHOOK_EVENTS = [
  'task.started',
  'task.completed',
  'task.failed',
  'task.expired',
  'task.cancelled',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface WebhookRecord {
  readonly id: string;
  /** Whose tasks it hears of; null where nobody is asked for a key. */
  readonly user_id: string | null;
  readonly url: string;
  /** Empty is every event. */
  readonly events: readonly WebhookEvent[];
  /** Milliseconds since 1970; null while it is enabled. */
  readonly disabled_at: number | null;
  readonly disabled_reason: string | null;
}

export interface NewWebhook {
  readonly user_id: string | null;
  readonly url: string;
  /** Default: every event. */
  readonly events?: readonly string[] | null;
  /** What its deliveries are signed with, in place of the user's secret and the common one. */
  readonly secret?: string | null;
  /**
   * What the key is for that chooses the URL; null is everything that its user may do. Results of tasks are sent within
   * it.
   */
  readonly scopes?: readonly string[] | null;
}

/** What is not given, or null, stays. */
export interface WebhookChange {
  readonly url?: string | null | undefined;
  readonly events?: readonly string[] | null | undefined;
  readonly secret?: string | null | undefined;
  /**
   * Counts with a new URL: who chooses where results are sent to must be allowed to read them. Default: null,
   * everything.
   */
  readonly scopes?: readonly string[] | null | undefined;
}

/** Failed attempts in a row, and the time of the first one. */
export interface WebhookHealth {
  readonly failures: number;
  readonly failing_since: number;
}

type WebhookRow = Omit<WebhookRecord, 'events'> & { readonly events: string };

/** Webhooks, each seen by its user alone. */
export class WebhookRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `InvalidWebhookEventType`. */
  async save({ user_id: userId, url, events, secret = null, scopes = null }: NewWebhook): Promise<WebhookRecord> {
    const webhook: WebhookRecord = {
      id: newId(),
      user_id: userId,
      url: checkText('url', url),
      events: checkedEvents(events ?? []),
      disabled_at: null,
      disabled_reason: null,
    };
    if (secret !== null) checkText('secret', secret);
    await this.#connection.query(sql.insert, [
      webhook.id,
      userId,
      url,
      JSON.stringify(webhook.events),
      secret,
      textOf(scopes),
      this.#connection.now(),
    ]);
    return webhook;
  }

  async read(id: string, userId: string | null): Promise<WebhookRecord | undefined> {
    const [row] = await this.#connection.query<WebhookRow>(sql.read, [id, userId]);
    return row && fromRow(row);
  }

  /** The oldest first; those for one event when it is given. */
  async list(userId: string | null, event?: WebhookEvent): Promise<WebhookRecord[]> {
    const all = (await this.#connection.query<WebhookRow>(sql.list, [userId])).map(fromRow);
    return event === undefined ? all : all.filter(({ events }) => wantsEvent(events, event));
  }

  /** Gives nothing when there is no such webhook of this user. */
  async update(id: string, userId: string | null, change: WebhookChange): Promise<WebhookRecord | undefined> {
    const before = await this.read(id, userId);
    if (!before) return undefined;
    const after: WebhookRecord = {
      ...before,
      url: checkText('url', change.url ?? before.url),
      events: checkedEvents(change.events ?? before.events),
    };
    const secret = change.secret ?? null;
    if (secret !== null) checkText('secret', secret);
    await this.#connection.query(sql.update, [
      id,
      after.url,
      JSON.stringify(after.events),
      secret,
      textOf(change.scopes ?? null),
      this.#connection.now(),
    ]);
    return after;
  }

  /** What waits for it is sent, and its failures are forgotten. */
  async enable(id: string): Promise<void> {
    await this.#connection.query(sql.enable, [id]);
  }

  /** False when it was disabled already: the first reason stays. */
  async disable(id: string, reason: string): Promise<boolean> {
    return (await this.#connection.query(sql.disable, [id, this.#connection.now(), reason])).length > 0;
  }

  /** Whether it was there. What waits for it goes with it. */
  async delete(id: string, userId: string | null): Promise<boolean> {
    return (await this.#connection.query(sql.remove, [id, userId])).length > 0;
  }

  /** Of one user, or of everybody (null), the oldest first. */
  async listAll(
    userId: string | null,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<WebhookRecord[]> {
    return (await this.#connection.query<WebhookRow>(sql.listAll, [userId, limit, offset])).map(fromRow);
  }

  /** Removes it whoever has it; gives what it was, or nothing when it was not there. */
  async deleteAny(id: string): Promise<WebhookRecord | undefined> {
    const [row] = await this.#connection.query<WebhookRow>(sql.removeAny, [id]);
    return row && fromRow(row);
  }

  /** An attempt came through. */
  async succeeded(id: string): Promise<void> {
    await this.#connection.query(sql.succeeded, [id]);
  }

  /** One more failed; undefined when the webhook is gone. */
  async failed(id: string): Promise<WebhookHealth | undefined> {
    return (await this.#connection.query<WebhookHealth>(sql.failed, [id, this.#connection.now()]))[0];
  }

  /** Nothing is sent to it for `ms`. */
  async pause(id: string, ms: number): Promise<void> {
    await this.#connection.query(sql.pause, [id, this.#connection.now() + Math.round(ms)]);
  }

  async resume(id: string): Promise<void> {
    await this.#connection.query(sql.resume, [id]);
  }

  async secretOfUser(userId: string): Promise<string | undefined> {
    return (await this.#connection.query<{ secret: string }>(sql.secretOfUser, [userId]))[0]?.secret;
  }
}

/** No events are all of them. */
export function wantsEvent(events: readonly string[], event: WebhookEvent): boolean {
  return events.length === 0 || events.includes(event);
}

function textOf(scopes: readonly string[] | null): string | null {
  return scopes && JSON.stringify(scopes);
}

function checkedEvents(events: readonly string[]): readonly WebhookEvent[] {
  for (const event of events) {
    if (!(WEBHOOK_EVENTS as readonly string[]).includes(event)) {
      throw new AanaError(
        'InvalidWebhookEventType',
        'bad-request',
        `${JSON.stringify(event)} is no event; events are ${WEBHOOK_EVENTS.join(', ')}`,
        { data: { event_type: event } },
      );
    }
  }
  return events as readonly WebhookEvent[];
}

function fromRow(row: WebhookRow): WebhookRecord {
  return { ...row, events: JSON.parse(row.events) as WebhookEvent[] };
}
