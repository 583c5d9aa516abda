import * as z from 'zod';
import { seconds } from './fields.ts';

export const WebhookConfig = z.strictObject({
  hmac_secret: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'What deliveries are signed with, unless the webhook or its user’s key has a secret. Without it, each new webhook gets one of its own.',
    ),
  retry_attempts: z
    .int()
    .min(1)
    .max(100)
    .default(16)
    .describe('Attempts at a delivery, the first one included. With the default waits 16 of them last about a day.'),
  retry_delay: seconds(5, 'Wait after the first attempt, in seconds; each further one is twice as long.'),
  max_retry_delay: seconds(
    21_600,
    'Longest wait between two attempts, in seconds; also the longest that a target may ask for with `Retry-After`.',
  ),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Time for one attempt, the answer included, in seconds.'),
  max_concurrent: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe('Deliveries that a host sends at the same time. Targets that fail get half of them at most.'),
  max_concurrent_per_target: z
    .int()
    .min(1)
    .max(1000)
    .default(4)
    .describe(
      'Deliveries to one target (scheme, host and port) at the same time, of all hosts together; one while it fails.',
    ),
  disable_after_failures: z
    .int()
    .min(1)
    .default(20)
    .describe('So many failed attempts in a row disable a webhook, when they last for `disable_after`.'),
  disable_after: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(172_800)
    .describe('How long a webhook must have failed before it is disabled, in seconds.'),
  retention: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(604_800)
    .describe(
      'How long deliveries that ended are kept, and those that wait for a disabled webhook, in seconds; 0 is for ever.',
    ),
  max_webhooks: z.int().min(1).max(10_000).default(100).describe('Webhooks of one user.'),
  allow_private_urls: z
    .boolean()
    .default(false)
    .describe('Whether webhooks may be sent to private and local addresses.'),
});
