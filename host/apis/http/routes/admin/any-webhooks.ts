import type { Logger } from '../../../../base/core/log/logger.ts';
import type { AnyWebhook } from './admin-definitions.ts';
import type { Delivery } from '../webhooks/webhook-definitions.ts';
import type { DeliveryStatus, UserWebhooks, WebhookRecord, Webhooks } from '../../../../data/webhooks/index.ts';
import { deliveryInfo, webhookInfo } from '../webhooks/webhook-routes.ts';
import type { Operator } from './operator.ts';

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
 * The webhooks of all users, as admins and commands see and change them. The log says who changed something,
 * because it was not its user. Each method with an id throws `NotFoundException`, and the errors of
 * {@link UserWebhooks}.
 */
export class AnyWebhooks {
  readonly #options: AnyWebhooksOptions;
  readonly #operator: Operator;

  constructor(options: AnyWebhooksOptions, operator: Operator) {
    this.#options = options;
    this.#operator = operator;
  }

  async list({
    user_id: user,
    page,
    per_page: perPage,
  }: Page & { readonly user_id?: string | undefined }): Promise<AnyWebhook[]> {
    const found = await this.#of(user ?? null).listAll({ page, perPage });
    return found.map((webhook) => this.#show(webhook));
  }

  async get(id: string): Promise<AnyWebhook> {
    return this.#show(await this.#of(null).getAny(id));
  }

  async deliveries(
    id: string,
    { status, page, per_page: perPage }: Page & { readonly status?: DeliveryStatus | undefined },
  ): Promise<Delivery[]> {
    const [ofOwner] = await this.#ofOwner(id);
    return (await ofOwner.deliveries(id, { status, page, perPage })).map(deliveryInfo);
  }

  async replay(id: string, deliveryId: string): Promise<Delivery> {
    const [ofOwner, owner] = await this.#ofOwner(id);
    const delivery = await ofOwner.replay(id, deliveryId);
    const about = { webhook: id, delivery: deliveryId, user: owner, ...this.#operator.by };
    this.#options.log.info('delivery replayed by an admin', about);
    return deliveryInfo(delivery);
  }

  /** Enables a webhook. It begins without failures, and its waiting deliveries are sent. */
  async enable(id: string): Promise<AnyWebhook> {
    const [ofOwner] = await this.#ofOwner(id);
    return this.#changed(await ofOwner.update(id, { enabled: true }), 'webhook enabled by an admin');
  }

  async delete(id: string): Promise<AnyWebhook> {
    return this.#changed(await this.#of(null).deleteAny(id), 'webhook removed by an admin');
  }

  #of(userId: string | null): UserWebhooks {
    return this.#options.webhooks.as({ userId, traceparent: this.#operator.traceparent });
  }

  /** Returns all webhooks of the owner of the webhook `id`, and the owner. */
  async #ofOwner(id: string): Promise<[UserWebhooks, owner: string | null]> {
    const { user_id: owner } = await this.#of(null).getAny(id);
    return [this.#of(owner), owner];
  }

  #changed(webhook: WebhookRecord, message: string): AnyWebhook {
    this.#options.log.info(message, { webhook: webhook.id, user: webhook.user_id, ...this.#operator.by });
    return this.#show(webhook);
  }

  #show(webhook: WebhookRecord): AnyWebhook {
    const url = this.#options.showsContents ? webhook.url : new URL(webhook.url).origin;
    return { user_id: webhook.user_id, ...webhookInfo({ ...webhook, url }) };
  }
}
