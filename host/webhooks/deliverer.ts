import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { delay } from '../core/abort.ts';
import { type Deferred, deferred } from '../core/deferred.ts';
import { AanaError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry.ts';
import type { WorkEnd } from '../core/work-telemetry.ts';
import { type ClaimedDelivery, DELIVERIES_WAITING, type Storage, whileUnavailable } from '../storage/index.ts';
import { DeliveryTelemetry } from './delivery-telemetry.ts';
import { messageBody, messageHeaders } from './message.ts';
import { pauseMs, retryAfterMs, retryDelayMs } from './retry-schedule.ts';

/** In the words of the settings `WEBHOOK__…`; times in seconds. */
export interface DelivererConfig {
  readonly hmac_secret: string | null;
  readonly retry_attempts: number;
  readonly retry_delay: number;
  readonly max_retry_delay: number;
  readonly timeout: number;
  readonly max_concurrent: number;
  readonly max_concurrent_per_target: number;
  readonly disable_after_failures: number;
  readonly disable_after: number;
  readonly retention: number;
}

export interface OutgoingMessage {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** For everything: the name, the connection, the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Posts a message to an address that it has checked, and follows no redirect. Rejects when there is no answer. */
export type PostMessage = (
  message: OutgoingMessage,
) => Promise<{ readonly status: number; readonly headers: readonly (readonly [name: string, value: string])[] }>;

export interface DelivererOptions {
  readonly storage: Storage;
  readonly config: DelivererConfig;
  readonly post: PostMessage;
  /** Never where users have keys: only admins see the inside. */
  readonly includeStacktrace: boolean;
  /** Whether who has these scopes (null: all) may read results of the endpoint at a path. Default: everybody may. */
  readonly mayRead?: ((scopes: readonly string[] | null, endpoint: string) => boolean) | undefined;
  readonly log: Logger;
  /** Where deliveries are reported. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
}

/** How an attempt ended: the status of the answer, or why there was none. */
interface Answer {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfterMs: number;
}

/**
 * How often is looked without being told: another process that shares SQLite's file tells nobody, and some wait for
 * their time.
 */
const POLL_MS = 1000;
const AFTER_ERROR_MS = 1000;
/** A lease is longer than an attempt by so much: time to write down how it went. */
const LEASE_MARGIN_MS = 5000;
const PRUNE_EVERY_MS = 600_000;
const PRUNE_BATCH = 500;

/** The reason with which an attempt is ended when the application shuts down. */
const SHUTDOWN = new AanaError('ShuttingDown', 'unavailable', 'the application is shutting down');

/**
 * Sends what waits in the outbox. Hosts that share a database share the work; what one has begun and not ended, another
 * one sends again.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #telemetry: DeliveryTelemetry;
  readonly #owner = `${hostname()}/${process.pid}/${newId()}`;
  readonly #running = new Map<
    string,
    { readonly userId: string | null; readonly isFailing: boolean; readonly done: Promise<void> }
  >();
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  #wake: Deferred<void> = deferred();
  #loop: Promise<void> = Promise.resolve();
  #unlisten: (() => void) | undefined;
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#telemetry = new DeliveryTelemetry(options.telemetry ?? noTelemetry);
    setMaxListeners(0, this.#ending.signal); // every delivery may wait for the database at a time
  }

  async start(): Promise<void> {
    const unlisten = await this.#options.storage.listen((message) => {
      if (message === '' || message === DELIVERIES_WAITING) this.#wake.resolve();
    });
    if (this.#stopping.signal.aborted) return unlisten();
    this.#unlisten = unlisten;
    this.#loop = this.#takeDeliveries();
  }

  /** Takes no more; attempts that run have `graceMs` to end, then they are given back. May be called twice. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(SHUTDOWN);
    this.#wake.resolve();
    this.#unlisten?.();
    await this.#loop;
    const timer = setTimeout(() => this.#ending.abort(SHUTDOWN), graceMs);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    clearTimeout(timer);
  }

  async #takeDeliveries(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = deferred(); // before the look, so that what comes meanwhile is not missed
      try {
        const waitMs = await this.#take();
        if (waitMs > 0) await this.#idle(waitMs);
        if (performance.now() - this.#prunedAt > PRUNE_EVERY_MS) await this.#prune();
      } catch (error) {
        this.#options.log.warn('webhook deliveries cannot be taken', { error });
        await delay(AFTER_ERROR_MS, signal).catch(() => {});
      }
    }
  }

  /** Gives how long there is nothing to take. */
  async #take(): Promise<number> {
    const { storage, config } = this.#options;
    const limit = config.max_concurrent - this.#running.size;
    if (limit <= 0) return POLL_MS;
    const { due, now } = await storage.read(async ({ webhookDeliveries, connection }) => ({
      due: await webhookDeliveries.nextDue(connection.now() + POLL_MS),
      now: connection.now(),
    }));
    if (due === undefined) return POLL_MS;
    if (due > now) return due - now;
    const failing = [...this.#running.values()].filter(({ isFailing }) => isFailing).length;
    const activeOfUser = new Map<string | null, number>();
    for (const { userId } of this.#running.values()) activeOfUser.set(userId, (activeOfUser.get(userId) ?? 0) + 1);
    const claimed = await storage.write(({ webhookDeliveries }) =>
      webhookDeliveries.claim({
        owner: this.#owner,
        limit,
        limitOfFailing: Math.max(0, Math.ceil(config.max_concurrent / 2) - failing), // the other half is for those that work
        perTarget: config.max_concurrent_per_target,
        activeOfUser,
        limitOfUser: Math.max(1, Math.floor((config.max_concurrent * 3) / 4)), // so that others need not wait for slow targets of one user
        leaseMs: config.timeout * 1000 + LEASE_MARGIN_MS,
      }),
    );
    for (const delivery of claimed) this.#begin(delivery);
    return claimed.length > 0 ? 0 : POLL_MS;
  }

  async #idle(ms: number): Promise<void> {
    const timer = setTimeout(this.#wake.resolve, ms);
    await this.#wake.promise;
    clearTimeout(timer);
  }

  #begin(delivery: ClaimedDelivery): void {
    const done = this.#deliver(delivery)
      .catch((error: unknown) =>
        this.#options.log.warn(
          'what became of a delivery could not be stored; it is sent again when its lease is over',
          { webhook: delivery.webhook_id, delivery: delivery.id, error },
        ),
      )
      .finally(() => {
        this.#running.delete(delivery.id);
        this.#wake.resolve();
      });
    this.#running.set(delivery.id, { userId: delivery.user_id, isFailing: delivery.failures > 0, done });
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const startedAt = performance.now();
    const work = this.#telemetry.begin(delivery);
    const answer = await this.#attempt(delivery, work.traceparent);
    work.end(endOf(answer));
    if (answer === undefined)
      return this.#options.storage.write(({ webhookDeliveries }) => webhookDeliveries.giveBack(delivery));
    const ms = performance.now() - startedAt;
    await whileUnavailable(() => this.#store(delivery, answer, ms), this.#ending.signal);
  }

  /** Undefined when it was ended by the shutdown. */
  async #attempt(delivery: ClaimedDelivery, traceparent: string | undefined): Promise<Answer | undefined> {
    const { config, post, includeStacktrace, mayRead = () => true } = this.#options;
    try {
      const secret = await this.#secretOf(delivery);
      const body = messageBody(
        mayRead(delivery.scopes, delivery.endpoint) ? delivery : { ...delivery, result: null },
        includeStacktrace,
      );
      const headers = messageHeaders({ id: delivery.id, body, secret, sentAt: Date.now(), traceparent });
      const { status, headers: answered } = await post({
        url: delivery.url,
        headers,
        body,
        timeoutMs: config.timeout * 1000,
        signal: this.#ending.signal,
      });
      const isGood = status >= 200 && status <= 299;
      const asked = answered.find(([name]) => name === 'retry-after')?.[1];
      const reason =
        status >= 300 && status <= 399
          ? `the target redirects (${status}), which is not followed`
          : `the target answered ${status}`;
      return { status, error: isGood ? null : reason, retryAfterMs: isGood ? 0 : retryAfterMs(asked, Date.now()) };
    } catch (error) {
      if (this.#ending.signal.aborted) return undefined;
      return { status: null, error: error instanceof Error ? error.message : String(error), retryAfterMs: 0 };
    }
  }

  /** The webhook's own, else that of its user's key, else the common one. */
  async #secretOf({ secret, user_id: user }: ClaimedDelivery): Promise<string> {
    const ofUser =
      secret === null && user !== null
        ? await this.#options.storage.read(({ webhooks }) => webhooks.secretOfUser(user))
        : undefined;
    const found = secret ?? ofUser ?? this.#options.config.hmac_secret;
    if (found === null)
      throw new AanaError(
        'NoWebhookSecret',
        'internal',
        'there is no secret to sign with; give the webhook one with PUT, or set WEBHOOK__HMAC_SECRET',
      );
    return found;
  }

  async #store(delivery: ClaimedDelivery, { status, error, retryAfterMs: asked }: Answer, ms: number): Promise<void> {
    const { storage, config, log } = this.#options;
    const fields = {
      webhook: delivery.webhook_id,
      delivery: delivery.id,
      event: delivery.event,
      task: delivery.task_id,
    };
    const attempt = { host: this.#owner, ms, responseStatus: status, error };
    const attempts = delivery.attempts + 1;
    if (error === null) {
      await storage.write(async ({ webhooks, webhookDeliveries }) => {
        if (await webhookDeliveries.finish(delivery, attempt, { status: 'delivered' }))
          await webhooks.succeeded(delivery.webhook_id);
      });
      this.#telemetry.ended(delivery, 'delivered', attempts);
      return log.debug('webhook delivered', { ...fields, attempts });
    }
    const isLast = attempts >= config.retry_attempts;
    const delayMs = retryDelayMs(attempts, config, asked, Math.random);
    const disabled = await storage.write(async ({ webhooks, webhookDeliveries, connection }) => {
      // 410 is an answer for the webhook, not for this delivery, which waits until it is enabled again.
      const outcome =
        isLast && status !== 410 ? ({ status: 'failed' } as const) : ({ status: 'pending', delayMs } as const);
      if (!(await webhookDeliveries.finish(delivery, attempt, outcome))) return undefined;
      const health = await webhooks.failed(delivery.webhook_id);
      if (!health) return undefined;
      await webhooks.pause(delivery.webhook_id, pauseMs(health.failures, config, asked));
      const isHopeless =
        health.failures >= config.disable_after_failures &&
        connection.now() - health.failing_since >= config.disable_after * 1000;
      const reason =
        status === 410
          ? 'the target answered 410: it is gone'
          : isHopeless
            ? `${health.failures} attempts in a row failed, since ${new Date(health.failing_since).toISOString()}; the last one: ${error}`
            : undefined;
      return reason !== undefined && (await webhooks.disable(delivery.webhook_id, reason)) ? reason : undefined;
    });
    if (isLast && status !== 410) this.#telemetry.ended(delivery, 'failed', attempts);
    if (isLast) log.warn('webhook not delivered, and not tried again', { ...fields, attempts, reason: error });
    else log.debug('webhook not delivered', { ...fields, attempts, reason: error });
    if (disabled !== undefined) log.warn('webhook disabled', { webhook: delivery.webhook_id, reason: disabled });
  }

  async #prune(): Promise<void> {
    const { storage, config } = this.#options;
    this.#prunedAt = performance.now();
    for (
      let removed = PRUNE_BATCH;
      config.retention > 0 && removed === PRUNE_BATCH && !this.#stopping.signal.aborted;
    ) {
      removed = await storage.write(({ webhookDeliveries, connection }) =>
        webhookDeliveries.prune(connection.now() - config.retention * 1000, PRUNE_BATCH),
      );
    }
  }
}

/** How an attempt is reported. */
function endOf(answer: Answer | undefined): WorkEnd {
  if (answer === undefined) return { error: SHUTDOWN, outcome: 'cancelled' };
  const { status, error } = answer;
  if (status === null) return { error: new Error(error ?? ''), outcome: 'unanswered' };
  return {
    ...(error !== null && { error: new Error(error) }),
    outcome: error === null ? 'ok' : 'refused',
    attributes: { 'http.response.status_code': status },
  };
}
