export type { UsageRecord } from './record.ts';
export { RequestMeter } from './request-meter.ts';
export type { PostUsage } from './usage-outbox.ts';
export { Usage } from './usage.ts';
