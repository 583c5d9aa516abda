export type { UsageRecord, UsageSource } from './record.ts';
export { type MeteredEnd, type MeteredRequest, RequestMeter } from './request-meter.ts';
export type { PostUsage } from './usage-outbox.ts';
export { Usage, type UsageConfig } from './usage.ts';
