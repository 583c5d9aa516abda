export {
  ALERT_EVENTS,
  type AlertHappening,
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  isAlertEvent,
  TASK_EVENTS,
  WEBHOOK_EVENTS,
  type WebhookRecord,
} from '../storage/index.ts';
export type { OutgoingMessage, PostMessage } from './deliverer.ts';
export { type WebhookConfig, Webhooks, type WebhooksOptions } from './webhooks.ts';
export type { UserWebhooks } from './user-webhooks.ts';
