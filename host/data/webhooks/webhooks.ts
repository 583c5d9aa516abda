import type { Caller, ForCallers } from '../../base/core/request-context.ts';
import { type AlertHappening, Pruner, type WebhookRecord } from '../storage/index.ts';
import { Deliverer, type DelivererConfig, type DelivererOptions } from './deliverer.ts';
import { BY_REQUEST, UserWebhooks, type UserWebhooksOptions } from './user-webhooks.ts';

/** Named like the settings `WEBHOOK__…`. */
export interface WebhookConfig extends DelivererConfig {
  readonly max_webhooks: number;
}

export interface WebhooksOptions extends DelivererOptions, Pick<UserWebhooksOptions, 'refusalOf'> {
  readonly config: WebhookConfig;
}

/** The webhooks of all users and their deliveries. */
export class Webhooks implements ForCallers<UserWebhooks> {
  readonly #options: WebhooksOptions;
  readonly #deliverer: Deliverer;
  readonly #pruner: Pruner;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#deliverer = new Deliverer(options);
    const { storage, log, config } = options;
    this.#pruner = new Pruner({
      storage,
      log,
      what: 'webhook deliveries',
      retentionMs: config.retention * 1000,
      prune: ({ webhookDeliveries }, before, limit) => webhookDeliveries.prune(before, limit),
    });
  }

  /** Begins to send deliveries, also deliveries that an ended host left. */
  async start(): Promise<void> {
    await this.#deliverer.start();
    this.#pruner.start();
  }

  /** See {@link Deliverer.stop}. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([this.#deliverer.stop(graceMs), this.#pruner.stop()]);
  }

  as(caller: Caller): UserWebhooks {
    return new UserWebhooks(this.#options, caller);
  }

  /** Stores an event of an alert for webhooks of admins. */
  announce(happening: AlertHappening): Promise<void> {
    return this.#options.storage.write(({ webhookDeliveries }) => webhookDeliveries.addAlert(happening));
  }

  /** Returns webhooks that the host has disabled because their targets fail, the last disabled one first. */
  async listFailing(limit: number): Promise<readonly WebhookRecord[]> {
    const disabled = await this.#options.storage.read(({ webhooks }) => webhooks.listDisabled(limit));
    return disabled.filter(({ disabled_reason: reason }) => reason !== BY_REQUEST);
  }
}
