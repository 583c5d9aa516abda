import { callControl, type ListedDelivery, type ListedWebhook } from '../../../control/index.ts';
import { columnsText } from '../../columns.ts';
import type { ApplicationCommand } from '../application.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;

export interface DeliverySearch {
  readonly status?: (typeof DELIVERY_STATUSES)[number] | undefined;
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
}

/** The command `webhooks`. Prints the webhooks of all users, or of one. */
export async function listWebhooks(
  { runtimeDir, host, port, out }: ApplicationCommand,
  userId: string | undefined,
  asJson: boolean,
): Promise<number> {
  const webhooks = await callControl(runtimeDir, 'webhooks.list', { user_id: userId }, { host, port });
  out.write(asJson ? json(webhooks) : webhooksText(webhooks));
  return 0;
}

/** The command `webhooks deliveries`. Prints the newest deliveries of a webhook with their last attempts. */
export async function listDeliveries(
  { runtimeDir, host, port, out }: ApplicationCommand,
  id: string,
  search: DeliverySearch,
  asJson: boolean,
): Promise<number> {
  const deliveries = await callControl(runtimeDir, 'webhooks.deliveries', { id, ...search }, { host, port });
  out.write(asJson ? json(deliveries) : deliveriesText(deliveries));
  return 0;
}

/** The command `webhooks replay`. Sends deliveries of a webhook once more. */
export async function replayDeliveries(
  { runtimeDir, host, port, out }: ApplicationCommand,
  id: string,
  deliveryIds: readonly string[],
): Promise<number> {
  for (const deliveryId of deliveryIds) {
    await callControl(runtimeDir, 'webhooks.replay', { id, delivery_id: deliveryId }, { host, port });
    out.write(`${deliveryId} is sent again\n`);
  }
  return 0;
}

/** The commands `webhooks enable` and `webhooks remove`. */
export async function changeWebhook(
  { runtimeDir, host, port, out }: ApplicationCommand,
  operation: 'webhooks.enable' | 'webhooks.remove',
  id: string,
): Promise<number> {
  await callControl(runtimeDir, operation, { id }, { host, port });
  out.write(operation === 'webhooks.enable' ? `${id} is enabled\n` : `${id} is removed\n`);
  return 0;
}

function webhooksText(webhooks: readonly ListedWebhook[]): string {
  if (webhooks.length === 0) return 'there are no webhooks\n';
  return columnsText([
    ['WEBHOOK', 'STATE', 'USER', 'ADDRESS', 'EVENTS', 'REASON'],
    ...webhooks.map(({ id, enabled, user_id: user, url, events, disabled_reason: reason }) => {
      return [id, enabled ? 'enabled' : 'disabled', user ?? '-', url, events.join(',') || 'all', reason ?? ''];
    }),
  ]);
}

function deliveriesText(deliveries: readonly ListedDelivery[]): string {
  if (deliveries.length === 0) return 'there are no such deliveries\n';
  return columnsText([
    ['DELIVERY', 'STATUS', 'EVENT', 'TASK', 'ATTEMPTS', 'NEXT', 'LAST ERROR'],
    ...deliveries.map(({ id, status, event, task_id: task, attempts, next_attempt_at: next }) => {
      return [id, status, event, task ?? '-', String(attempts.length), next ?? '-', attempts.at(-1)?.error ?? ''];
    }),
  ]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
