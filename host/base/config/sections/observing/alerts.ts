import * as z from 'zod';
import { amount, toggle } from '../../../core/fields.ts';
import { RulesInput } from '../../../alerts/rules.ts';
import { settings } from '../../registry.ts';

export const AlertsConfig = z.strictObject({
  enabled: toggle(
    true,
    'Whether the host watches the rules of alerts. See [operating.md](operating.md#alerts).',
  ).register(settings, { env: 'AANA_ALERTS' }),
  interval_s: amount({ min: 0.1, max: 3600, default: 5 }, 'Time between two looks at the rules, in seconds.'),
  rules: RulesInput.default({}).describe(
    'Changes of the default rules, and further rules, by name: `{ "disk": { "threshold": 0.8 }, "queue": { ' +
      '"enabled": false } }`. See [operating.md](operating.md#alerts).',
  ),
});
