import { type AanaError, fail } from '../../base/core/errors.ts';
import type { Caller } from '../../base/core/request-context.ts';
import {
  type DeliveryRecord,
  type DeliveryStatus,
  isAlertEvent,
  type Storage,
  type TracedStorage,
  type WebhookChange,
  type WebhookRecord,
} from '../storage/index.ts';
import { isSecret, newSecret } from './secrets.ts';

export interface UserWebhooksOptions {
  readonly storage: Storage;
  readonly config: { readonly max_webhooks: number; readonly hmac_secret: string | null };
  /**
   * Returns the reason why the host in a URL is refused; undefined when it is allowed. Only the spelling of the URL is
   * checked. Each delivery also checks the address.
   */
  readonly refusalOf: (url: URL) => string | undefined;
}

const MOST_URL_LENGTH = 2083;
/** The reason of a webhook that its user disabled. */
export const BY_REQUEST = 'by request';

/**
 * The webhooks of a caller and the log of their deliveries. When the host requires no keys, all callers are the user
 * null.
 */
export class UserWebhooks {
  readonly #options: UserWebhooksOptions;
  readonly #caller: Caller;
  readonly #storage: TracedStorage;

  constructor(options: UserWebhooksOptions, caller: Caller) {
    this.#options = options;
    this.#caller = caller;
    this.#storage = options.storage.inTrace(caller.traceparent);
  }

  /**
   * Makes a webhook. If there is no secret for it, it gets a new one, which only this result contains. Throws
   * `ValidationError`, `PrivateAddressException`, `TooManyWebhooks`, `InvalidWebhookEventType`, `AlertsForAdmins`.
   */
  async create({
    url,
    events,
    secret,
    scopes = null,
    followsAlerts = false,
  }: {
    readonly url: string;
    readonly events: readonly string[];
    readonly secret?: string | undefined;
    readonly scopes?: readonly string[] | null | undefined;
    /** Whether the caller may receive events of alerts, as admins may. Default: false. */
    readonly followsAlerts?: boolean | undefined;
  }): Promise<{ readonly webhook: WebhookRecord; readonly newSecret: string | undefined }> {
    const { config } = this.#options;
    const { userId } = this.#caller;
    const target = this.#checkedUrl(url);
    if (secret !== undefined) checkSecret(secret);
    checkEvents(events, followsAlerts);
    return this.#storage.write(async ({ webhooks }) => {
      if ((await webhooks.list(userId)).length >= config.max_webhooks) {
        throw fail(
          'TooManyWebhooks',
          `the user already has ${config.max_webhooks} webhooks, which is the most; remove one`,
          { data: { max_webhooks: config.max_webhooks } },
        );
      }
      const ofUser = userId === null ? undefined : await webhooks.secretOfUser(userId);
      const made =
        secret === undefined && ofUser === undefined && config.hmac_secret === null ? newSecret() : undefined;
      return {
        webhook: await webhooks.save({ user_id: userId, url: target, events, secret: secret ?? made ?? null, scopes }),
        newSecret: made,
      };
    });
  }

  list(): Promise<WebhookRecord[]> {
    return this.#storage.read(({ webhooks }) => webhooks.list(this.#caller.userId));
  }

  /** Throws `NotFoundException`, also for a webhook of another user. */
  async get(id: string): Promise<WebhookRecord> {
    return found(id, await this.#storage.read(({ webhooks }) => webhooks.read(id, this.#caller.userId)));
  }

  /**
   * Changes a webhook; absent fields stay. A new URL and an enabled webhook begin without failures, and waiting
   * deliveries are sent. Events of alerts are for admins, so only they change a webhook that receives some.
   */
  async update(
    id: string,
    {
      enabled,
      followsAlerts = false,
      ...change
    }: WebhookChange & { readonly enabled?: boolean | null | undefined; readonly followsAlerts?: boolean | undefined },
  ): Promise<WebhookRecord> {
    const url = change.url === undefined || change.url === null ? undefined : this.#checkedUrl(change.url);
    if (typeof change.secret === 'string') checkSecret(change.secret);
    const { userId } = this.#caller;
    return this.#storage.write(async ({ webhooks, webhookDeliveries }) => {
      const before = found(id, await webhooks.read(id, userId));
      checkEvents([...before.events, ...(change.events ?? [])], followsAlerts);
      await webhooks.update(id, userId, { ...change, url });
      const isNewTarget = url !== undefined && url !== before.url;
      if (enabled === true || (isNewTarget && before.disabled_at === null)) {
        await webhooks.enable(id);
        await webhookDeliveries.hasten(id);
      }
      if (enabled === false) await webhooks.disable(id, BY_REQUEST);
      return found(id, await webhooks.read(id, userId));
    });
  }

  /** Removes a webhook with its deliveries, and returns it. */
  async delete(id: string): Promise<WebhookRecord> {
    const { userId } = this.#caller;
    return this.#storage.write(async ({ webhooks }) => {
      const webhook = found(id, await webhooks.read(id, userId));
      await webhooks.delete(id, userId);
      return webhook;
    });
  }

  /**
   * Returns a page of the webhooks of one user, or of all users (null), the oldest first. Pages count from 1. For
   * admins.
   */
  listAll({ page, perPage }: { readonly page: number; readonly perPage: number }): Promise<WebhookRecord[]> {
    return this.#storage.read(({ webhooks }) =>
      webhooks.listAll(this.#caller.userId, { limit: perPage, offset: (page - 1) * perPage }),
    );
  }

  /** Returns a webhook of any user. Throws `NotFoundException`. For admins. */
  async getAny(id: string): Promise<WebhookRecord> {
    return found(id, await this.#storage.read(({ webhooks }) => webhooks.readAny(id)));
  }

  /** Removes a webhook of any user with its deliveries, and returns it. Throws `NotFoundException`. For admins. */
  async deleteAny(id: string): Promise<WebhookRecord> {
    return found(id, await this.#storage.write(({ webhooks }) => webhooks.deleteAny(id)));
  }

  /** Returns a page of deliveries, sent and waiting, the newest first. Pages count from 1. */
  async deliveries(
    id: string,
    {
      status,
      page,
      perPage,
    }: { readonly status?: DeliveryStatus | undefined; readonly page: number; readonly perPage: number },
  ): Promise<DeliveryRecord[]> {
    await this.get(id);
    return this.#storage.read(({ webhookDeliveries }) =>
      webhookDeliveries.list(id, { status, limit: perPage, offset: (page - 1) * perPage }),
    );
  }

  /**
   * Sends a delivery once more under the same id. Throws `NotFoundException`, `WebhookDisabled`, and `DeliveryIsActive`
   * for a delivery that is being sent.
   */
  async replay(id: string, deliveryId: string): Promise<DeliveryRecord> {
    const { userId } = this.#caller;
    return this.#storage.write(async ({ webhooks, webhookDeliveries }) => {
      const { disabled_at: disabledAt } = found(id, await webhooks.read(id, userId));
      found(deliveryId, await webhookDeliveries.read(id, deliveryId), 'webhook_deliveries');
      if (disabledAt !== null)
        throw fail('WebhookDisabled', 'The webhook is disabled; enable it first: PUT {"enabled": true}.', {
          data: { id },
        });
      if (!(await webhookDeliveries.replay(id, deliveryId)))
        throw fail('DeliveryIsActive', 'The delivery is being sent at the moment.', {
          data: { id: deliveryId },
        });
      await webhooks.resume(id); // a user asked for it, so a pause ends
      return found(deliveryId, await webhookDeliveries.read(id, deliveryId), 'webhook_deliveries');
    });
  }

  /** Returns a URL in the normalised form of the Python SDK. Throws `ValidationError` or `PrivateAddressException`. */
  #checkedUrl(text: string): string {
    if (text.length > MOST_URL_LENGTH)
      throw invalid('url', 'url_too_long', `URL should have at most ${MOST_URL_LENGTH} characters`, text);
    if (!URL.canParse(text))
      throw invalid('url', 'url_parsing', 'Input should be a valid URL, such as https://example.org/hook', text);
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw invalid('url', 'url_scheme', "URL scheme should be 'http' or 'https'", text);
    if (url.username !== '' || url.password !== '')
      throw invalid(
        'url',
        'url_credentials',
        'URL should have no user name and no password: deliveries are signed',
        null,
      );
    const refusal = this.#options.refusalOf(url);
    if (refusal !== undefined) throw fail('PrivateAddressException', refusal, { data: { url: url.href } });
    return url.href;
  }
}

function checkEvents(events: readonly string[], followsAlerts: boolean): void {
  const alert = events.find(isAlertEvent);
  if (alert !== undefined && !followsAlerts)
    throw fail('AlertsForAdmins', `the event ${alert} is for webhooks that the key of an admin sets`, {
      data: { event_type: alert },
    });
}

function checkSecret(secret: string): void {
  if (!isSecret(secret))
    throw invalid(
      'secret',
      'value_error',
      'A secret that begins with whsec_ should continue with the base64 of at least 16 bytes',
      null,
    );
}

/** Returns an error in the format of all validation errors. It never contains a secret. */
function invalid(key: string, type: string, msg: string, input: string | null): AanaError {
  return fail('ValidationError', 'Validation error', {
    data: [{ type, loc: [key], msg, input }],
  });
}

function found<T>(id: string, record: T | undefined, table = 'webhooks'): T {
  if (record === undefined)
    throw fail(
      'NotFoundException',
      `there is no ${table === 'webhooks' ? 'webhook' : 'delivery'} ${JSON.stringify(id)}`,
      { data: { table, id } },
    );
  return record;
}
