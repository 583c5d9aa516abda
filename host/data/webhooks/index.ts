export {
  ALERT_EVENTS,
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  isAlertEvent,
  TASK_EVENTS,
  WEBHOOK_EVENTS,
  type WebhookRecord,
} from '../storage/index.ts';
export type { PostMessage } from './deliverer.ts';
export { type WebhookConfig, Webhooks } from './webhooks.ts';
export type { UserWebhooks } from './user-webhooks.ts';
