export { Alerts } from './alerts.ts';
export { AlertReport, AlertsReport } from './report.ts';
export { type AlertFacts, type DiskFacts, type WebhookFacts } from './facts.ts';
export { rulesOf } from './rules.ts';
export { SlowFact } from './slow-fact.ts';
