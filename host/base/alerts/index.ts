export type { AlertEvent, Announce } from './announcements.ts';
export { Alerts, type AlertsOptions } from './alerts.ts';
export { AlertReport, AlertsReport } from './report.ts';
export { type AlertFacts, type DiskFacts, type WebhookFacts } from './facts.ts';
export { ALERT_SEVERITIES, RulesInput, rulesOf } from './rules.ts';
export { SlowFact } from './slow-fact.ts';
