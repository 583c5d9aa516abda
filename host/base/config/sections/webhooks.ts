import * as z from 'zod';
import { seconds } from './fields.ts';
import { settings } from '../registry.ts';

export const WebhookConfig = z.strictObject({
  hmac_secret: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Secret that signs deliveries, unless the webhook or its user’s key has a secret. Without it, each new ' +
        'webhook gets its own secret.',
    )
    .register(settings, { env: 'WEBHOOK__HMAC_SECRET' }),
  retry_attempts: z
    .int()
    .min(1)
    .max(100)
    .default(16)
    .describe('Most attempts at a delivery, including the first. With the default waits, 16 attempts take about a day.')
    .register(settings, { env: 'WEBHOOK__RETRY_ATTEMPTS' }),
  retry_delay: seconds(5, 'Wait after the first attempt, in seconds. Each further wait is twice as long.').register(
    settings,
    { env: 'WEBHOOK__RETRY_DELAY' },
  ),
  max_retry_delay: seconds(
    21_600,
    'Longest wait between two attempts, in seconds. A target’s `Retry-After` is limited to it, too.',
  ).register(settings, { env: 'WEBHOOK__MAX_RETRY_DELAY' }),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Time limit of one attempt, including the answer, in seconds.')
    .register(settings, { env: 'WEBHOOK__TIMEOUT' }),
  max_concurrent: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe('Most deliveries that a host sends at the same time. Failing targets get at most half of them.')
    .register(settings, { env: 'WEBHOOK__MAX_CONCURRENT' }),
  max_concurrent_per_target: z
    .int()
    .min(1)
    .max(1000)
    .default(4)
    .describe(
      'Most deliveries to one target (scheme, host and port) at the same time, for all hosts together; one while ' +
        'the target fails.',
    )
    .register(settings, { env: 'WEBHOOK__MAX_CONCURRENT_PER_TARGET' }),
  disable_after_failures: z
    .int()
    .min(1)
    .default(20)
    .describe(
      'Failed attempts in a row after which a webhook is disabled, once it has also failed for `disable_after`.',
    )
    .register(settings, { env: 'WEBHOOK__DISABLE_AFTER_FAILURES' }),
  disable_after: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(172_800)
    .describe('Time for which a webhook must have failed before it is disabled, in seconds.')
    .register(settings, { env: 'WEBHOOK__DISABLE_AFTER' }),
  retention: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(604_800)
    .describe(
      'Time for which the host keeps deliveries that ended or wait for a disabled webhook, in seconds; 0 keeps them ' +
        'without limit.',
    )
    .register(settings, { env: 'WEBHOOK__RETENTION' }),
  max_webhooks: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe('Most webhooks of one user.')
    .register(settings, { env: 'WEBHOOK__MAX_WEBHOOKS' }),
  allow_private_urls: z
    .boolean()
    .default(false)
    .describe('Whether webhooks may be sent to private and local addresses.')
    .register(settings, { env: 'WEBHOOK__ALLOW_PRIVATE_URLS' }),
});
