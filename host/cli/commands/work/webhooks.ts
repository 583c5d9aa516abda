import { askOperator } from '../../../apis/control/index.ts';
import type { OperatorAnswer, OperatorRequest } from '../../../apis/http/index.ts';
import { columnsText } from '../../columns.ts';
import type { ApplicationCommand } from '../application.ts';

type Deliveries = 'get /api/webhooks/{webhook_id}/deliveries';
export type DeliverySearch = NonNullable<OperatorRequest<Deliveries>['query']>;
type ListedDelivery = OperatorAnswer<Deliveries>['deliveries'][number];
type ListedWebhook = OperatorAnswer<'get /api/webhooks'>['webhooks'][number];

/** The command `webhooks`. Prints the webhooks of all users, or of one. */
export async function listWebhooks(
  { out, ...at }: ApplicationCommand,
  userId: string | undefined,
  asJson: boolean,
): Promise<number> {
  const { webhooks } = await askOperator(at, 'get /api/webhooks', { query: { user_id: userId } });
  out.write(asJson ? json(webhooks) : webhooksText(webhooks));
  return 0;
}

/** The command `webhooks deliveries`. Prints the newest deliveries of a webhook with their last attempts. */
export async function listDeliveries(
  { out, ...at }: ApplicationCommand,
  id: string,
  search: DeliverySearch,
  asJson: boolean,
): Promise<number> {
  const given = { params: { webhook_id: id }, query: search };
  const { deliveries } = await askOperator(at, 'get /api/webhooks/{webhook_id}/deliveries', given);
  out.write(asJson ? json(deliveries) : deliveriesText(deliveries));
  return 0;
}

/** The command `webhooks replay`. Sends deliveries of a webhook once more. */
export async function replayDeliveries(
  { out, ...at }: ApplicationCommand,
  id: string,
  deliveryIds: readonly string[],
): Promise<number> {
  for (const deliveryId of deliveryIds) {
    const params = { webhook_id: id, delivery_id: deliveryId };
    await askOperator(at, 'post /api/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', { params });
    out.write(`${deliveryId} is sent again\n`);
  }
  return 0;
}

const CHANGES = {
  enable: 'post /api/webhooks/{webhook_id}/enable',
  remove: 'delete /api/webhooks/{webhook_id}',
} as const;

/** The commands `webhooks enable` and `webhooks remove`. */
export async function changeWebhook(
  { out, ...at }: ApplicationCommand,
  change: keyof typeof CHANGES,
  id: string,
): Promise<number> {
  await askOperator(at, CHANGES[change], { params: { webhook_id: id } });
  out.write(change === 'enable' ? `${id} is enabled\n` : `${id} is removed\n`);
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
