import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import { fail } from '../../base/core/errors.ts';
import { newLeaseOwner } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { QueueConsumer, SHUTDOWN } from '../../base/core/queue-consumer.ts';
import { noTelemetry, type Telemetry } from '../../base/core/telemetry.ts';
import type { WorkEnd } from '../../base/core/work-telemetry.ts';
import {
  type ClaimedDelivery,
  DELIVERIES_WAITING,
  isAlertEvent,
  type Storage,
  type TracedStorage,
  whileUnavailable,
} from '../storage/index.ts';
import { DeliveryTelemetry } from './delivery-telemetry.ts';
import { messageBody, messageHeaders } from './message.ts';
import { pauseMs, retryAfterMs, retryDelayMs } from './retry-schedule.ts';

/** Named like the settings `WEBHOOK__…`; times in seconds. */
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
  /** The time for the whole request: look-up of the name, connection and answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Posts a message to a checked address and follows no redirect. Rejects when there is no answer. */
export type PostMessage = (
  message: OutgoingMessage,
) => Promise<{ readonly status: number; readonly headers: readonly (readonly [name: string, value: string])[] }>;

export interface DelivererOptions {
  readonly storage: Storage;
  readonly config: DelivererConfig;
  readonly post: PostMessage;
  /**
   * Whether messages contain stack traces. It must be false when users have keys, because only admins may see stack
   * traces.
   */
  readonly includeStacktrace: boolean;
  /**
   * Returns whether a webhook with these scopes (null: all) may receive results of the endpoint at a path. Default:
   * every webhook may.
   */
  readonly mayRead?: ((scopes: readonly string[] | null, endpoint: string) => boolean) | undefined;
  readonly log: Logger;
  /** Default: deliveries are not reported. */
  readonly telemetry?: Telemetry | undefined;
}

/** The result of an attempt: the status of the answer, or the reason why there was none. */
interface Answer {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfterMs: number;
}

/** The consumer looks again within a second, so later deliveries need not be read. */
const HORIZON_MS = 1000;
/** The time by which a lease is longer than an attempt, for storing the result. */
const LEASE_MARGIN_MS = 5000;
/** How often due times are looked at that are too late after a step of the clock. */
const MEND_EVERY_MS = 30_000;

/**
 * Sends the deliveries of the outbox. Hosts that share a database share the work. A delivery that a lost host had begun
 * is sent again by another host.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #telemetry: DeliveryTelemetry;
  readonly #owner = newLeaseOwner();
  readonly #consumer: QueueConsumer<ClaimedDelivery>;
  readonly #mending: RepeatedWork;

  constructor(options: DelivererOptions) {
    this.#options = options;
    const { storage, config, log } = options;
    this.#telemetry = new DeliveryTelemetry(options.telemetry ?? noTelemetry);
    this.#consumer = new QueueConsumer({
      concurrency: config.max_concurrent,
      claim: (room) => this.#claim(room),
      nextDueInMs: () => this.#nextDueInMs(),
      run: (delivery, signal) => this.#deliver(delivery, signal),
      listen: () =>
        storage.listen((message) => {
          if (message === '' || message === DELIVERIES_WAITING) this.#consumer.wake();
        }),
      onClaimError: (error) => log.warn('webhook deliveries cannot be claimed', { error }),
      onRunError: (error, { id, webhook_id: webhook }) =>
        log.warn('the result of a delivery could not be stored; it is sent again after its lease has expired', {
          webhook,
          delivery: id,
          error,
        }),
    });
    this.#mending = new RepeatedWork({
      everyMs: MEND_EVERY_MS,
      work: () =>
        storage.write(({ webhookDeliveries }) =>
          webhookDeliveries.mendDueTimes(Math.max(config.max_retry_delay * 1000, this.#leaseMs)),
        ),
      onError: (error) => log.warn('due times of deliveries were not looked at', { error }),
    });
  }

  get #leaseMs(): number {
    return this.#options.config.timeout * 1000 + LEASE_MARGIN_MS;
  }

  async start(): Promise<void> {
    await this.#consumer.start();
    this.#mending.start();
  }

  /**
   * Claims no more deliveries. Running attempts have `graceMs` to end; the rest goes back to the outbox. May be called
   * twice.
   */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([this.#consumer.stop(graceMs), this.#mending.stop()]);
  }

  async #nextDueInMs(): Promise<number> {
    return this.#options.storage.read(
      async ({ webhookDeliveries, connection }) =>
        ((await webhookDeliveries.nextDue(connection.now() + HORIZON_MS)) ?? Infinity) - connection.now(),
    );
  }

  async #claim(room: number): Promise<readonly ClaimedDelivery[]> {
    const { storage, config } = this.#options;
    const { running } = this.#consumer;
    const failing = running.filter(({ failures }) => failures > 0).length;
    const activeOfUser = new Map<string | null, number>();
    for (const { user_id: user } of running) activeOfUser.set(user, (activeOfUser.get(user) ?? 0) + 1);
    return storage.write(({ webhookDeliveries }) =>
      webhookDeliveries.claim({
        owner: this.#owner,
        limit: room,
        // The other half is for targets that work.
        limitOfFailing: Math.max(0, Math.ceil(config.max_concurrent / 2) - failing),
        perTarget: config.max_concurrent_per_target,
        activeOfUser,
        // Other users do not wait for the slow targets of one user.
        limitOfUser: Math.max(1, Math.floor((config.max_concurrent * 3) / 4)),
        leaseMs: this.#leaseMs,
      }),
    );
  }

  async #deliver(delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const work = this.#telemetry.begin(delivery);
    const storage = this.#options.storage.inTrace(work.traceparent);
    const answer = await this.#attempt(delivery, work.traceparent, signal);
    work.end(endOf(answer));
    if (answer === undefined) return storage.write(({ webhookDeliveries }) => webhookDeliveries.giveBack(delivery));
    const ms = performance.now() - startedAt;
    await whileUnavailable(() => this.#store(storage, delivery, answer, ms), signal);
  }

  /** Sends a delivery once. Returns undefined when the shutdown ended the attempt. */
  async #attempt(
    delivery: ClaimedDelivery,
    traceparent: string | undefined,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    const { config, post, includeStacktrace, mayRead = () => true } = this.#options;
    try {
      const secret = await this.#secretOf(delivery, traceparent);
      const body = messageBody(
        isAlertEvent(delivery.event) || mayRead(delivery.scopes, delivery.endpoint)
          ? delivery
          : { ...delivery, result: null },
        includeStacktrace,
      );
      const headers = messageHeaders({ id: delivery.id, body, secret, sentAt: Date.now(), traceparent });
      const { status, headers: answered } = await post({
        url: delivery.url,
        headers,
        body,
        timeoutMs: config.timeout * 1000,
        signal,
      });
      const isGood = status >= 200 && status <= 299;
      const asked = answered.find(([name]) => name === 'retry-after')?.[1];
      const reason =
        status >= 300 && status <= 399
          ? `the target redirects (${status}), which is not followed`
          : `the target answered ${status}`;
      return { status, error: isGood ? null : reason, retryAfterMs: isGood ? 0 : retryAfterMs(asked, Date.now()) };
    } catch (error) {
      if (signal.aborted) return undefined;
      return { status: null, error: error instanceof Error ? error.message : String(error), retryAfterMs: 0 };
    }
  }

  /** Returns the secret of the webhook, else of a key of its user, else the common secret. */
  async #secretOf({ secret, user_id: user }: ClaimedDelivery, traceparent: string | undefined): Promise<string> {
    const ofUser =
      secret === null && user !== null
        ? await this.#options.storage.inTrace(traceparent).read(({ webhooks }) => webhooks.secretOfUser(user))
        : undefined;
    const found = secret ?? ofUser ?? this.#options.config.hmac_secret;
    if (found === null)
      throw fail(
        'NoWebhookSecret',
        'there is no secret to sign with; set one for the webhook with PUT, or set WEBHOOK__HMAC_SECRET',
      );
    return found;
  }

  async #store(
    storage: TracedStorage,
    delivery: ClaimedDelivery,
    { status, error, retryAfterMs: asked }: Answer,
    ms: number,
  ): Promise<void> {
    const { config, log } = this.#options;
    const fields = {
      webhook: delivery.webhook_id,
      delivery: delivery.id,
      event: delivery.event,
      [isAlertEvent(delivery.event) ? 'alert' : 'task']: delivery.task_id,
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
      // 410 concerns the webhook and not this delivery, which waits until the webhook is enabled again.
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
          ? 'the target answered 410, which means that it is gone'
          : isHopeless
            ? `${health.failures} attempts in a row failed since ${new Date(health.failing_since).toISOString()}; ` +
              `the last error: ${error}`
            : undefined;
      return reason !== undefined && (await webhooks.disable(delivery.webhook_id, reason)) ? reason : undefined;
    });
    if (isLast && status !== 410) this.#telemetry.ended(delivery, 'failed', attempts);
    if (isLast) log.warn('webhook not delivered, and not sent again', { ...fields, attempts, reason: error });
    else log.debug('webhook not delivered', { ...fields, attempts, reason: error });
    if (disabled !== undefined) log.warn('webhook disabled', { webhook: delivery.webhook_id, reason: disabled });
  }
}

/** Returns the end of an attempt for the telemetry. */
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
