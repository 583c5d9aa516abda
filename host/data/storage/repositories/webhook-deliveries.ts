import { newId } from '../../../base/core/ids.ts';
import { loadStatements, Repository } from '../statements.ts';
import type { DeliveryStatus } from '../delivery-status.ts';
import type { TaskStatus } from '../task-state.ts';
import { hasRoomForCopies } from './delivery-usage.ts';
import { type WebhookAlertEvent, type WebhookTaskEvent, wantsEvent, type WebhookEvent } from './webhooks.ts';

const sql = loadStatements('webhook-deliveries', [
  'recipients',
  'ofAdmins',
  'insert',
  'insertAlert',
  'waiting',
  'busy',
  'take',
  'finish',
  'giveBack',
  'addAttempt',
  'list',
  'attempts',
  'read',
  'replay',
  'hasten',
  'mendDueTimes',
  'mendPauses',
  'prune',
]);

/** The notification that there is a delivery to send. */
export const DELIVERIES_WAITING = 'deliveries';

/**
 * Hosts claim deliveries one after the other. Two claims at once would both count the deliveries of a target before
 * either takes some.
 */
const CLAIM_LOCK = 4_161_616_175;
/** Larger results are neither copied nor sent. Receivers then read the task. */
const MOST_RESULT_BYTES = 2 * 1024 * 1024;

/** An event of a task for webhooks. */
export interface TaskHappening {
  readonly event: WebhookTaskEvent;
  readonly task_id: string;
  /** The token of the attempt. Each attempt has each event at most once. */
  readonly lease_token: number;
  readonly user_id: string | null;
  readonly endpoint: string;
  readonly status: TaskStatus;
  readonly num_retries: number;
  /** JSON. */
  readonly result: string | null;
  /** The place of the request of the task in a distributed trace. */
  readonly traceparent?: string | null | undefined;
}

/** An event of an alert for webhooks of admins. */
export interface AlertHappening {
  readonly event: WebhookAlertEvent;
  /** The id of the alert. Each webhook gets each event of an id at most once, however many hosts add it. */
  readonly alert_id: string;
  /** JSON. */
  readonly payload: string;
  /** Whether the host requires keys. Without keys, all callers are admins. */
  readonly has_keys: boolean;
}

/** A claimed delivery with everything that is needed to send it. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly user_id: string | null;
  readonly url: string;
  /** The secret of the webhook. */
  readonly secret: string | null;
  /** The scopes of the key that set the URL; null is everything. */
  readonly scopes: readonly string[] | null;
  /** The number of failed attempts of the webhook in a row. */
  readonly failures: number;
  readonly event: WebhookEvent;
  /** Of an event of an alert: the id of the alert. */
  readonly task_id: string;
  readonly endpoint: string;
  readonly task_status: TaskStatus;
  readonly num_retries: number;
  /** JSON; null also when the result is too large. Of an event of an alert: the alert. */
  readonly result: string | null;
  /** See {@link TaskHappening}. */
  readonly traceparent: string | null;
  /** The number of failed attempts so far. */
  readonly attempts: number;
  readonly lease_token: number;
}

type WaitingWebhook = Pick<ClaimedDelivery, 'user_id' | 'url' | 'secret' | 'scopes' | 'failures'>;

export interface ClaimDeliveriesOptions {
  /** The holder, which is unique for each process. */
  readonly owner: string;
  readonly limit: number;
  /** Most deliveries of webhooks whose last attempt failed. */
  readonly limitOfFailing: number;
  /** Most deliveries at a time to one target (scheme, host and port), of all hosts together. */
  readonly perTarget: number;
  readonly leaseMs: number;
  /** The number of deliveries that `owner` already has of each user. Default: none. */
  readonly activeOfUser?: ReadonlyMap<string | null, number> | undefined;
  /**
   * Most deliveries of one user that `owner` has at a time. Deliveries without a user have no limit. Default: no limit.
   */
  readonly limitOfUser?: number | undefined;
}

/** The result of one attempt. */
export interface DeliveryAttempt {
  readonly host: string;
  /** The duration of the attempt in milliseconds. */
  readonly ms: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
}

export type DeliveryOutcome =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly delayMs: number };

export interface DeliveryRecord {
  readonly id: string;
  readonly event: WebhookEvent;
  /** Of an event of an alert: the id of the alert. */
  readonly task_id: string;
  readonly status: DeliveryStatus;
  /** The time from which the delivery may be sent. While `lease_owner` has the delivery, the end of the lease. */
  readonly due_at: number;
  readonly lease_owner: string | null;
  readonly created_at: number;
  readonly ended_at: number | null;
  /** The oldest first. */
  readonly tries: readonly DeliveryTry[];
}

export interface DeliveryTry {
  readonly started_at: number;
  readonly ended_at: number;
  readonly response_status: number | null;
  readonly error: string | null;
}

/** The outbox of webhooks, and the log of what was sent. */
export class WebhookDeliveryRepository extends Repository {
  /**
   * Adds a delivery for each webhook of the event. It must run in the transaction of the event. The result is left out
   * if copies of results for webhooks of the user would keep more than `maxBytes`.
   */
  async add(
    happening: TaskHappening,
    { maxBytes = Number.MAX_SAFE_INTEGER }: { readonly maxBytes?: number | undefined } = {},
  ): Promise<void> {
    const recipients = await this.connection.query<{ id: string; events: string }>(sql.recipients, [happening.user_id]);
    const wanting = recipients.filter(({ events }) => wantsEvent(JSON.parse(events) as string[], happening.event));
    if (wanting.length === 0) return;
    const { event, task_id: task, lease_token: token, endpoint, status, num_retries: retries, traceparent } = happening;
    const bytes = happening.result === null ? 0 : Buffer.byteLength(happening.result);
    const user = happening.user_id;
    const isCopied =
      bytes <= MOST_RESULT_BYTES &&
      (user === null ||
        bytes === 0 ||
        (await hasRoomForCopies(this.connection, user, bytes * wanting.length, maxBytes)));
    const result = isCopied ? happening.result : null;
    for (const { id } of wanting)
      await this.connection.query(sql.insert, [
        newId(),
        id,
        event,
        task,
        token,
        endpoint,
        status,
        retries,
        result,
        traceparent ?? null,
        user,
        this.connection.now(),
      ]);
    await this.connection.notify(DELIVERIES_WAITING);
  }

  /** Adds a delivery for each webhook of an admin that wants the event, unless it was already added. */
  async addAlert({ event, alert_id: id, payload, has_keys: hasKeys }: AlertHappening): Promise<void> {
    const now = this.connection.now();
    const recipients = await this.connection.query<{ id: string; events: string; user_id: string | null }>(
      hasKeys ? sql.ofAdmins : sql.recipients,
      [hasKeys ? now : null],
    );
    const wanting = recipients.filter(({ events }) => wantsEvent(JSON.parse(events) as string[], event));
    if (wanting.length === 0) return;
    for (const { id: webhook, user_id: user } of wanting)
      await this.connection.query(sql.insertAlert, [newId(), webhook, event, id, payload, user, now]);
    await this.connection.notify(DELIVERIES_WAITING);
  }

  /** Returns the due time of the next delivery, if it is at most `until`. It may be in the past. */
  async nextDue(until: number): Promise<number | undefined> {
    const waiting = await this.#waiting(until);
    return waiting.length === 0 ? undefined : Math.min(...waiting.map(({ due_at: at }) => at));
  }

  /**
   * Claims deliveries: first of webhooks without failures, then of users with the fewest deliveries, then the oldest.
   * An expired lease counts as none.
   */
  async claim({
    owner,
    limit,
    limitOfFailing,
    perTarget,
    leaseMs,
    activeOfUser = new Map(),
    limitOfUser = Infinity,
  }: ClaimDeliveriesOptions): Promise<ClaimedDelivery[]> {
    if (this.connection.dialect === 'postgresql')
      await this.connection.query('select pg_advisory_xact_lock($1)', [CLAIM_LOCK]);
    const now = this.connection.now();
    const busy = new Map<string, number>();
    for (const { url, count } of await this.connection.query<{ url: string; count: number }>(sql.busy, [now]))
      busy.set(targetOf(url), (busy.get(targetOf(url)) ?? 0) + count);
    const claimed: ClaimedDelivery[] = [];
    let failing = 0;
    const active = new Map(activeOfUser);
    for (const { id, due_at: _, ...webhook } of inTurns(await this.#waiting(now), active)) {
      const { user_id: user, url, failures } = webhook;
      const target = targetOf(url);
      const isFailing = failures > 0;
      const room = Math.min(
        limit - claimed.length,
        (isFailing ? 1 : perTarget) - (busy.get(target) ?? 0),
        isFailing ? limitOfFailing - failing : Infinity,
        user === null ? Infinity : limitOfUser - (active.get(user) ?? 0),
      );
      if (room <= 0) continue;
      const taken = await this.connection.query<Omit<ClaimedDelivery, 'webhook_id' | keyof WaitingWebhook>>(sql.take, [
        id,
        now,
        room,
        owner,
        now + leaseMs,
      ]);
      busy.set(target, (busy.get(target) ?? 0) + taken.length);
      active.set(user, (active.get(user) ?? 0) + taken.length);
      if (isFailing) failing += taken.length;
      claimed.push(...taken.map((one) => ({ ...one, webhook_id: id, ...webhook })));
      if (claimed.length >= limit) break;
    }
    return claimed;
  }

  /** Stores the result of an attempt. Returns false when another host has the delivery. */
  async finish(
    { id, lease_token: token }: Pick<ClaimedDelivery, 'id' | 'lease_token'>,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<boolean> {
    const now = this.connection.now();
    const isOver = outcome.status !== 'pending';
    const values = [id, token, outcome.status, isOver ? now : now + Math.round(outcome.delayMs), isOver ? now : null];
    if ((await this.connection.query(sql.finish, values)).length === 0) return false;
    await this.connection.query(sql.addAttempt, [
      id,
      token,
      attempt.host,
      now - Math.round(attempt.ms),
      now,
      attempt.responseStatus,
      attempt.error?.replaceAll('\0', '\ufffd') ?? null,
    ]);
    return true;
  }

  /** Gives back a delivery whose attempt has no result, so that another host may claim it. */
  async giveBack({ id, lease_token: token }: Pick<ClaimedDelivery, 'id' | 'lease_token'>): Promise<void> {
    await this.connection.query(sql.giveBack, [id, token, this.connection.now()]);
    await this.connection.notify(DELIVERIES_WAITING);
  }

  /** Returns the deliveries of one webhook, the newest first. */
  async list(
    webhookId: string,
    {
      status,
      limit,
      offset,
    }: { readonly status?: DeliveryStatus | undefined; readonly limit: number; readonly offset: number },
  ): Promise<DeliveryRecord[]> {
    return this.#withTries(
      await this.connection.query<Omit<DeliveryRecord, 'tries'>>(sql.list, [webhookId, status ?? null, limit, offset]),
    );
  }

  async read(webhookId: string, id: string): Promise<DeliveryRecord | undefined> {
    return (
      await this.#withTries(await this.connection.query<Omit<DeliveryRecord, 'tries'>>(sql.read, [webhookId, id]))
    )[0];
  }

  /** Makes a delivery due with all attempts. Returns false when it does not exist or is being sent. */
  async replay(webhookId: string, id: string): Promise<boolean> {
    const isThere = (await this.connection.query(sql.replay, [webhookId, id, this.connection.now()])).length > 0;
    if (isThere) await this.connection.notify(DELIVERIES_WAITING);
    return isThere;
  }

  /** Makes the waiting deliveries of a webhook due now, with all attempts. */
  async hasten(webhookId: string): Promise<void> {
    await this.connection.query(sql.hasten, [webhookId, this.connection.now()]);
    await this.connection.notify(DELIVERIES_WAITING);
  }

  /**
   * Makes deliveries due now that would wait too long, because the clock was set back. No delay is above `mostDelayMs`.
   */
  async mendDueTimes(mostDelayMs: number): Promise<void> {
    const now = this.connection.now();
    const values = [now, now + Math.ceil(mostDelayMs)];
    const [mended] = await Promise.all([
      this.connection.query(sql.mendDueTimes, values),
      this.connection.query(sql.mendPauses, values),
    ]);
    if (mended.length > 0) await this.connection.notify(DELIVERIES_WAITING);
  }

  /** Removes at most `limit` old deliveries. Returns their number. */
  async prune(before: number, limit: number): Promise<number> {
    return (await this.connection.query(sql.prune, [before, limit])).length;
  }

  async #waiting(until: number): Promise<(WaitingWebhook & { readonly id: string; readonly due_at: number })[]> {
    const rows = await this.connection.query<
      Omit<WaitingWebhook, 'scopes'> & { readonly id: string; readonly due_at: number; readonly scopes: string | null }
    >(sql.waiting, [until]);
    return rows.map((row) => ({ ...row, scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as string[]) }));
  }

  async #withTries(rows: readonly Omit<DeliveryRecord, 'tries'>[]): Promise<DeliveryRecord[]> {
    if (rows.length === 0) return [];
    const tries = await this.connection.query<DeliveryTry & { delivery_id: string }>(sql.attempts, [
      JSON.stringify(rows.map(({ id }) => id)),
    ]);
    return rows.map((row) => ({ ...row, tries: tries.filter(({ delivery_id: id }) => id === row.id) }));
  }
}

/**
 * Yields webhooks without failures first. Among equals, the next one belongs to the user with the fewest deliveries in
 * `active`, which the reader updates.
 */
function* inTurns<T extends Pick<WaitingWebhook, 'user_id' | 'failures'>>(
  waiting: readonly T[],
  active: ReadonlyMap<string | null, number>,
): Generator<T, void> {
  for (const isFailing of [false, true]) {
    const left = new Map<string | null, T[]>();
    for (const webhook of waiting) {
      if (webhook.failures > 0 !== isFailing) continue;
      const ofUser = left.get(webhook.user_id);
      if (ofUser) ofUser.push(webhook);
      else left.set(webhook.user_id, [webhook]);
    }
    while (left.size > 0) {
      let least: string | null | undefined;
      for (const user of left.keys())
        if (least === undefined || (active.get(user) ?? 0) < (active.get(least) ?? 0)) least = user;
      if (least === undefined) return;
      const webhooks = left.get(least) ?? [];
      const next = webhooks.shift();
      if (next) yield next;
      else left.delete(least);
    }
  }
}

function targetOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
