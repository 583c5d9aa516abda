import * as z from 'zod';

/** What rules watch, and the unit of their thresholds; null where a rule has no threshold. */
export const RULE_KINDS = {
  deployment_down: null,
  deployment_degraded: null,
  plugin_failed: null,
  error_rate: 'part',
  queue: 'part',
  disk: 'part',
  webhook_disabled: null,
  certificate: 'days',
} as const;
export type RuleKind = keyof typeof RULE_KINDS;

export const ALERT_SEVERITIES = ['critical', 'warning', 'info'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** The longest time over which requests are counted, in seconds. */
export const MAX_WINDOW_S = 3600;

/** One rule of the configuration. Absent keys have the values of the default rule of its name, or of its kind. */
export const RuleInput = z.strictObject({
  kind: z.enum(Object.keys(RULE_KINDS) as [RuleKind, ...RuleKind[]]).optional(),
  enabled: z.boolean().optional(),
  severity: z.enum(ALERT_SEVERITIES).optional(),
  threshold: z.number().positive().max(3650).optional(),
  for_s: z.number().min(0).max(604_800).optional(),
  keep_s: z.number().min(0).max(604_800).optional(),
  only: z.array(z.string().min(1).max(1000)).min(1).max(1000).optional(),
  window_s: z.number().min(10).max(MAX_WINDOW_S).optional(),
  min_requests: z.int().min(1).max(1_000_000).optional(),
});
export type RuleInput = Omit<z.infer<typeof RuleInput>, 'only'> & { readonly only?: readonly string[] | undefined };

/** A rule with all its values. */
export interface AlertRule {
  readonly name: string;
  readonly kind: RuleKind;
  readonly severity: AlertSeverity;
  /** See {@link RULE_KINDS}. */
  readonly threshold: number | null;
  /** Seconds for which the condition must last before the alert fires. */
  readonly for_s: number;
  /** Seconds for which the condition must be over before the alert is resolved. */
  readonly keep_s: number;
  /** The subjects that the rule is for; null is all. */
  readonly only: readonly string[] | null;
  /** Of `error_rate`: seconds over which requests are counted. */
  readonly window_s: number;
  /** Of `error_rate`: fewest requests in this time. */
  readonly min_requests: number;
}

type RuleValues = Omit<AlertRule, 'name' | 'kind' | 'only' | 'window_s' | 'min_requests'>;

/** The values of a kind, which its default rule has. */
const VALUES: Readonly<Record<RuleKind, RuleValues>> = {
  deployment_down: { severity: 'critical', threshold: null, for_s: 30, keep_s: 30 },
  deployment_degraded: { severity: 'warning', threshold: null, for_s: 300, keep_s: 60 },
  plugin_failed: { severity: 'warning', threshold: null, for_s: 0, keep_s: 0 },
  error_rate: { severity: 'critical', threshold: 0.05, for_s: 60, keep_s: 120 },
  queue: { severity: 'warning', threshold: 0.8, for_s: 60, keep_s: 60 },
  disk: { severity: 'critical', threshold: 0.9, for_s: 60, keep_s: 60 },
  webhook_disabled: { severity: 'warning', threshold: null, for_s: 0, keep_s: 0 },
  certificate: { severity: 'warning', threshold: 14, for_s: 0, keep_s: 0 },
};

/** The rules of a configuration by name. A rule with the name of a default one changes it. */
export const RulesInput = z
  .record(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'a name has 1 to 64 small letters, digits or "_"'), RuleInput)
  .superRefine((rules, context) => {
    if (Object.keys(rules).length > MOST_RULES)
      context.addIssue({ code: 'custom', message: `has more than ${MOST_RULES} rules`, input: rules });
    for (const [name, given] of Object.entries(rules)) {
      const fault = faultOf(name, given);
      if (fault)
        context.addIssue({ code: 'custom', path: [name, fault.key], message: fault.message, input: given[fault.key] });
    }
  });

const MOST_RULES = 200;

function faultOf(
  name: string,
  { kind, threshold, window_s: windowS, min_requests: minRequests }: RuleInput,
): { readonly key: keyof RuleInput; readonly message: string } | undefined {
  const kinds = Object.keys(RULE_KINDS).join(', ');
  const own = Object.hasOwn(RULE_KINDS, name) ? (name as RuleKind) : undefined;
  const actual = kind ?? own;
  if (actual === undefined)
    return { key: 'kind', message: `is missing; only the default rules have one without it. Kinds are ${kinds}` };
  if (own !== undefined && kind !== undefined && kind !== own)
    return { key: 'kind', message: `must be "${own}", because this is the default rule of that name` };
  const unit = RULE_KINDS[actual];
  if (threshold !== undefined && unit === null)
    return { key: 'threshold', message: `must be absent, because rules of the kind ${actual} have no threshold` };
  if (threshold !== undefined && unit === 'part' && threshold > 1)
    return { key: 'threshold', message: 'must be a part of the whole, above 0 and at most 1' };
  if (actual === 'error_rate') return undefined;
  if (windowS !== undefined) return { key: 'window_s', message: 'is only for rules of the kind error_rate' };
  if (minRequests !== undefined) return { key: 'min_requests', message: 'is only for rules of the kind error_rate' };
  return undefined;
}

/** Returns the rules that are watched: the default ones with their changes, then the others. */
export function rulesOf(given: Readonly<Record<string, RuleInput>>): readonly AlertRule[] {
  const names = new Set([...Object.keys(RULE_KINDS), ...Object.keys(given)]);
  return [...names].flatMap((name) => {
    const { kind = name as RuleKind, enabled = true, ...values } = given[name] ?? {};
    return enabled ? [rule(name, kind, values)] : [];
  });
}

function rule(name: string, kind: RuleKind, given: Omit<RuleInput, 'kind' | 'enabled'> = {}): AlertRule {
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { name, kind, ...VALUES[kind], only: null, window_s: 300, min_requests: 20, ...changes };
}
