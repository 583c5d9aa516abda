import { fail } from '../../../base/core/errors.ts';
import { newId } from '../../../base/core/ids.ts';
import { checkText } from '../errors.ts';
import { filtered, loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('webhooks', [
  'insert',
  'read',
  'list',
  'listAll',
  'update',
  'enable',
  'disable',
  'remove',
  'readAny',
  'removeAny',
  'succeeded',
  'failed',
  'pause',
  'resume',
  'secretOfUser',
  'listDisabled',
]);

/** The notification that webhooks were made, changed, disabled or removed. */
export const WEBHOOKS_CHANGED = 'webhooks';

/** Events of tasks: the events of the Python SDK and two more. */
export const TASK_EVENTS = ['task.started', 'task.completed', 'task.failed', 'task.expired', 'task.cancelled'] as const;
export type WebhookTaskEvent = (typeof TASK_EVENTS)[number];

/** Events of alerts of the host, for webhooks of admins. */
export const ALERT_EVENTS = ['alert.firing', 'alert.resolved'] as const;
export type WebhookAlertEvent = (typeof ALERT_EVENTS)[number];

export const WEBHOOK_EVENTS = [...TASK_EVENTS, ...ALERT_EVENTS] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface WebhookRecord {
  readonly id: string;
  /** The user whose tasks it receives; null when the host requires no keys. */
  readonly user_id: string | null;
  readonly url: string;
  /** Its events; empty is every event of tasks. */
  readonly events: readonly WebhookEvent[];
  /** Milliseconds since 1970; null while it is enabled. */
  readonly disabled_at: number | null;
  readonly disabled_reason: string | null;
}

export interface NewWebhook {
  readonly user_id: string | null;
  readonly url: string;
  /** Default: every event of tasks. */
  readonly events?: readonly string[] | null;
  /** The secret that signs its deliveries, in place of the secret of the user and the common secret. */
  readonly secret?: string | null;
  /**
   * The scopes of the key that sets the URL; null is everything that its user may do. Only results inside these scopes
   * are sent.
   */
  readonly scopes?: readonly string[] | null;
}

/** The changes of a webhook. Absent fields and null change nothing. */
export interface WebhookChange {
  readonly url?: string | null | undefined;
  readonly events?: readonly string[] | null | undefined;
  readonly secret?: string | null | undefined;
  /**
   * Used with a new URL, because whoever sets the target of results must be allowed to read them. Default: null,
   * everything.
   */
  readonly scopes?: readonly string[] | null | undefined;
}

/** The number of failed attempts in a row, and the time of the first one. */
export interface WebhookHealth {
  readonly failures: number;
  readonly failing_since: number;
}

type WebhookRow = Omit<WebhookRecord, 'events'> & { readonly events: string };

/** The stored webhooks. Only its user sees a webhook. Changes notify the listeners of all hosts. */
export class WebhookRepository extends Repository {
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
    await this.connection.query(sql.insert, [
      webhook.id,
      userId,
      url,
      JSON.stringify(webhook.events),
      secret,
      textOf(scopes),
      this.connection.now(),
    ]);
    await this.#changed();
    return webhook;
  }

  async read(id: string, userId: string | null): Promise<WebhookRecord | undefined> {
    const [row] = await this.connection.query<WebhookRow>(sql.read, [id, userId]);
    return row && fromRow(row);
  }

  /** Returns the webhooks of a user, the oldest first; only the webhooks of `event` if it is given. */
  async list(userId: string | null, event?: WebhookEvent): Promise<WebhookRecord[]> {
    const all = (await this.connection.query<WebhookRow>(sql.list, [userId])).map(fromRow);
    return event === undefined ? all : all.filter(({ events }) => wantsEvent(events, event));
  }

  /** Changes a webhook. Returns undefined when the user has no such webhook. */
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
    await this.connection.query(sql.update, [
      id,
      after.url,
      JSON.stringify(after.events),
      secret,
      textOf(change.scopes ?? null),
      this.connection.now(),
    ]);
    await this.#changed();
    return after;
  }

  /** Enables a webhook. Its waiting deliveries are sent, and its failures are forgotten. */
  async enable(id: string): Promise<void> {
    await this.connection.query(sql.enable, [id]);
    await this.#changed();
  }

  /** Disables a webhook. Returns false when it was already disabled; the first reason then stays. */
  async disable(id: string, reason: string): Promise<boolean> {
    return this.#changedIf((await this.connection.query(sql.disable, [id, this.connection.now(), reason])).length > 0);
  }

  /** Removes a webhook with its deliveries. Returns whether it existed. */
  async delete(id: string, userId: string | null): Promise<boolean> {
    return this.#changedIf((await this.connection.query(sql.remove, [id, userId])).length > 0);
  }

  /** Returns the webhooks of one user, or of all users (null), the oldest first. */
  async listAll(
    userId: string | null,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<WebhookRecord[]> {
    return (
      await this.connection.query<WebhookRow>(...filtered(sql.listAll, [limit, offset], [['user_id = ?', userId]]))
    ).map(fromRow);
  }

  /** Returns webhooks of all users that are disabled, the last disabled one first. */
  async listDisabled(limit: number): Promise<WebhookRecord[]> {
    return (await this.connection.query<WebhookRow>(sql.listDisabled, [limit])).map(fromRow);
  }

  /** Returns a webhook of any user. */
  async readAny(id: string): Promise<WebhookRecord | undefined> {
    const [row] = await this.connection.query<WebhookRow>(sql.readAny, [id]);
    return row && fromRow(row);
  }

  /** Removes a webhook of any user. Returns it, or undefined when it did not exist. */
  async deleteAny(id: string): Promise<WebhookRecord | undefined> {
    const [row] = await this.connection.query<WebhookRow>(sql.removeAny, [id]);
    await this.#changedIf(row !== undefined);
    return row && fromRow(row);
  }

  /** Called after a successful attempt. */
  async succeeded(id: string): Promise<void> {
    await this.connection.query(sql.succeeded, [id]);
  }

  /** Counts a failed attempt. Returns undefined when the webhook does not exist. */
  async failed(id: string): Promise<WebhookHealth | undefined> {
    return (await this.connection.query<WebhookHealth>(sql.failed, [id, this.connection.now()]))[0];
  }

  /** Pauses all deliveries of a webhook for `ms`. */
  async pause(id: string, ms: number): Promise<void> {
    await this.connection.query(sql.pause, [id, this.connection.now() + Math.round(ms)]);
  }

  async resume(id: string): Promise<void> {
    await this.connection.query(sql.resume, [id]);
  }

  async secretOfUser(userId: string): Promise<string | undefined> {
    return (await this.connection.query<{ secret: string }>(sql.secretOfUser, [userId]))[0]?.secret;
  }

  #changed(): Promise<void> {
    return this.connection.notify(WEBHOOKS_CHANGED);
  }

  async #changedIf(isChanged: boolean): Promise<boolean> {
    if (isChanged) await this.#changed();
    return isChanged;
  }
}

/**
 * Returns whether a webhook with these events wants `event`. An empty list is every event of tasks. Alerts must be
 * named, because receivers of tasks cannot read them.
 */
export function wantsEvent(events: readonly string[], event: WebhookEvent): boolean {
  return events.includes(event) || (events.length === 0 && !isAlertEvent(event));
}

export function isAlertEvent(event: string): event is WebhookAlertEvent {
  return (ALERT_EVENTS as readonly string[]).includes(event);
}

function textOf(scopes: readonly string[] | null): string | null {
  return scopes && JSON.stringify(scopes);
}

function checkedEvents(events: readonly string[]): readonly WebhookEvent[] {
  for (const event of events) {
    if (!(WEBHOOK_EVENTS as readonly string[]).includes(event)) {
      throw fail(
        'InvalidWebhookEventType',
        `${JSON.stringify(event)} is not an event; events are ${WEBHOOK_EVENTS.join(', ')}`,
        { data: { event_type: event } },
      );
    }
  }
  return events as readonly WebhookEvent[];
}

function fromRow(row: WebhookRow): WebhookRecord {
  return { ...row, events: JSON.parse(row.events) as WebhookEvent[] };
}
