import * as z from 'zod';
import { PATH_PATTERN } from '../../core/net/route-paths.ts';
import { settings } from '../registry.ts';

const RateLimit = z.strictObject({
  capacity: z.int().min(1).max(1_000_000).describe('Most requests at once.'),
  interval_seconds: z
    .number()
    .positive()
    .max(31_536_000)
    .describe('Time in which the whole capacity refills, evenly, in seconds.'),
});

export const RateLimitsConfig = z.strictObject({
  default: RateLimit.nullable()
    .default(null)
    .describe(
      'Limit of all requests of each caller, such as `{"capacity": 60, "interval_seconds": 60}`. A caller is a user ' +
        'or, without API keys, an address.',
    )
    .register(settings, { isLive: true }),
  endpoints: z
    .record(
      z.string().regex(PATH_PATTERN, 'must be a path such as /video/transcribe or /items/{id}, or /video/*'),
      RateLimit,
    )
    .default({})
    .describe(
      'Limits of each caller’s requests to an endpoint, by a path such as `/video/transcribe`, `/items/{id}` or ' +
        '`/video/*`.',
    )
    .register(settings, { isLive: true }),
  users: z
    .record(z.string().min(1).max(255), RateLimit.nullable())
    .default({})
    .describe('Limits that replace `rate_limits.default` for one user, by `user_id`; null is no limit.')
    .register(settings, { isLive: true }),
  keys: z
    .record(z.string().min(1).max(255), RateLimit)
    .default({})
    .describe('Further limits of single API keys, by `key_id`. The limits of the user count too.')
    .register(settings, { isLive: true }),
  documentation: RateLimit.nullable()
    .default({ capacity: 300, interval_seconds: 60 })
    .describe(
      'Limit of each address’s requests to `/openapi.json`, `/docs` and `/redoc`, which need no key; null is no limit.',
    )
    .register(settings, { isLive: true }),
  refused_keys: RateLimit.nullable()
    .default({ capacity: 100, interval_seconds: 60 })
    .describe(
      'Limit of unknown API keys from each address; null is no limit. Beyond it only keys that this host has ' +
        'already seen work from the address.',
    ),
});
