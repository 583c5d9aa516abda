import * as z from 'zod';
import { amount, textOrNull, toggle, whole } from '../../core/fields.ts';
import { seconds } from './fields.ts';

export const WebhookConfig = z.strictObject({
  hmac_secret: textOrNull(
    'Secret that signs deliveries, unless the webhook or its user’s key has a secret. Without it, each new ' +
      'webhook gets its own secret.',
  ),
  retry_attempts: whole(
    { min: 1, max: 100, default: 16 },
    'Most attempts at a delivery, including the first. With the default waits, 16 attempts take about a day.',
  ),
  retry_delay: seconds(5, 'Wait after the first attempt, in seconds. Each further wait is twice as long.'),
  max_retry_delay: seconds(
    21_600,
    'Longest wait between two attempts, in seconds. A target’s `Retry-After` is limited to it, too.',
  ),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Time limit of one attempt, including the answer, in seconds.'),
  max_concurrent: whole(
    { min: 1, max: 10_000, default: 50 },
    'Most deliveries that a host sends at the same time. Failing targets get at most half of them.',
  ),
  max_concurrent_per_target: whole(
    { min: 1, max: 1000, default: 4 },
    'Most deliveries to one target (scheme, host and port) at the same time, for all hosts together; one while ' +
      'the target fails.',
  ),
  disable_after_failures: whole(
    { min: 1, default: 20 },
    'Failed attempts in a row after which a webhook is disabled, once it has also failed for `disable_after`.',
  ),
  disable_after: amount(
    { min: 0, max: 31_536_000, default: 172_800 },
    'Time for which a webhook must have failed before it is disabled, in seconds.',
  ),
  retention: amount(
    { min: 0, max: 31_536_000, default: 604_800 },
    'Time for which the host keeps deliveries that ended or wait for a disabled webhook, in seconds; 0 keeps them ' +
      'without limit.',
  ),
  max_webhooks: whole({ min: 1, max: 10_000, default: 100 }, 'Most webhooks of one user.'),
  allow_private_urls: toggle(false, 'Whether webhooks may be sent to private and local addresses.'),
});
