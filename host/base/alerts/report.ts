import * as z from 'zod';
import { ALERT_SEVERITIES, RULE_KINDS, type RuleKind } from './rules.ts';

const Kind = z.enum(Object.keys(RULE_KINDS) as [RuleKind, ...RuleKind[]]);
const Severity = z.enum(ALERT_SEVERITIES);
const Time = z.string().meta({ format: 'date-time' });

export const AlertReport = z.object({
  id: z
    .string()
    .meta({ format: 'uuid' })
    .describe(
      'The same for its events `alert.firing` and `alert.resolved`. Each time that an alert fires has its own.',
    ),
  rule: z.string().describe('Name of the rule.'),
  kind: Kind,
  severity: Severity,
  state: z
    .enum(['pending', 'firing', 'resolved'])
    .describe('`pending`: the condition holds, but not yet for the time of the rule.'),
  subject: z.string().describe('A deployment, a plugin, a folder, a webhook or a file.'),
  message: z.string(),
  value: z.number().nullable().describe('What is compared with the threshold, where there is one.'),
  threshold: z.number().nullable(),
  host: z.string().describe('Name of the machine that saw it.'),
  since: Time.describe('When the condition began to hold.'),
  fired_at: Time.nullable(),
  resolved_at: Time.nullable(),
});
export type AlertReport = z.infer<typeof AlertReport>;

export const AlertRuleReport = z.object({
  name: z.string(),
  kind: Kind,
  severity: Severity,
  threshold: z.number().nullable(),
  for_s: z.number(),
  keep_s: z.number(),
  only: z.array(z.string()).nullable().describe('The subjects that the rule is for; null is all.'),
  is_known: z.boolean().describe('Whether the facts that the rule needs were known at the last look.'),
});
export type AlertRuleReport = z.infer<typeof AlertRuleReport>;

export const AlertsReport = z.object({
  alerts: z
    .array(AlertReport)
    .describe('Alerts that fire, then pending ones, then the last resolved ones, each the newest first.'),
  rules: z.array(AlertRuleReport).describe('The rules that are watched. Empty if alerts are off.'),
});
export type AlertsReport = z.infer<typeof AlertsReport>;
