import type { LogFields, Logger } from '../../../core/log/logger.ts';
import type { AnyWebhook } from './admin-definitions.ts';
import type { Delivery } from '../webhooks/webhook-definitions.ts';
import type { DeliveryStatus, WebhookRecord, Webhooks } from '../../../webhooks/index.ts';
import { deliveryInfo, webhookInfo } from '../webhooks/webhook-routes.ts';

export interface AnyWebhooksOptions {
  readonly webhooks: Webhooks;
  /** Whether whole URLs are shown. They can have secrets. */
  readonly showsContents: boolean;
  readonly log: Logger;
}

/** A page of a list. Pages count from 1. */
interface Page {
  readonly page: number;
  readonly per_page: number;
}

/**
 * The webhooks of all users, as admins and commands see and change them. The log says who changed something (`by`),
 * because it was not its user. Each method with an id throws `NotFoundException`, and the errors of {@link Webhooks}.
 */
export class AnyWebhooks {
  readonly #options: AnyWebhooksOptions;

  constructor(options: AnyWebhooksOptions) {
    this.#options = options;
  }

  async list(
    { user_id: user, page, per_page: perPage }: Page & { readonly user_id?: string | undefined },
    traceparent?: string,
  ): Promise<AnyWebhook[]> {
    const found = await this.#options.webhooks.listAll(user ?? null, { page, perPage }, traceparent);
    return found.map((webhook) => this.#show(webhook));
  }

  async get(id: string, traceparent?: string): Promise<AnyWebhook> {
    return this.#show(await this.#options.webhooks.getAny(id, traceparent));
  }

  async deliveries(
    id: string,
    { status, page, per_page: perPage }: Page & { readonly status?: DeliveryStatus | undefined },
    traceparent?: string,
  ): Promise<Delivery[]> {
    const { webhooks } = this.#options;
    const { user_id: owner } = await webhooks.getAny(id, traceparent);
    return (await webhooks.deliveries(id, owner, { status, page, perPage }, traceparent)).map(deliveryInfo);
  }

  async replay(id: string, deliveryId: string, by: LogFields, traceparent?: string): Promise<Delivery> {
    const { webhooks, log } = this.#options;
    const { user_id: owner } = await webhooks.getAny(id, traceparent);
    const delivery = await webhooks.replay(id, deliveryId, owner, traceparent);
    log.info('delivery replayed by an admin', { webhook: id, delivery: deliveryId, user: owner, ...by });
    return deliveryInfo(delivery);
  }

  /** Enables a webhook. It begins without failures, and its waiting deliveries are sent. */
  async enable(id: string, by: LogFields, traceparent?: string): Promise<AnyWebhook> {
    const { webhooks } = this.#options;
    const { user_id: owner } = await webhooks.getAny(id, traceparent);
    const changed = await webhooks.update(id, owner, { enabled: true }, traceparent);
    return this.#changed(changed, 'webhook enabled by an admin', by);
  }

  async delete(id: string, by: LogFields, traceparent?: string): Promise<AnyWebhook> {
    return this.#changed(await this.#options.webhooks.deleteAny(id, traceparent), 'webhook removed by an admin', by);
  }

  #changed(webhook: WebhookRecord, message: string, by: LogFields): AnyWebhook {
    this.#options.log.info(message, { webhook: webhook.id, user: webhook.user_id, ...by });
    return this.#show(webhook);
  }

  #show(webhook: WebhookRecord): AnyWebhook {
    const url = this.#options.showsContents ? webhook.url : new URL(webhook.url).origin;
    return { user_id: webhook.user_id, ...webhookInfo({ ...webhook, url }) };
  }
}
