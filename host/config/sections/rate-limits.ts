import * as z from 'zod';

const RateLimit = z.strictObject({
  capacity: z.int().min(1).max(1_000_000).describe('Requests that may come at once.'),
  interval_seconds: z.number().positive().max(31_536_000).describe('Time in which so many are there again, evenly.'),
});

export const RateLimitsConfig = z.strictObject({
  default: RateLimit.nullable()
    .default(null)
    .describe(
      'Requests of each caller in all, such as `{"capacity": 60, "interval_seconds": 60}`: of each API key or, without keys, each address.',
    ),
  endpoints: z
    .record(
      z.string().regex(/^(\/[A-Za-z0-9._~-]+)+(\/\*)?$/, 'must be a path such as /video/transcribe, or /video/*'),
      RateLimit,
    )
    .default({})
    .describe('Requests of each caller to an endpoint, by its path or `/video/*`.'),
  keys: z
    .record(z.string().min(1), RateLimit.nullable())
    .default({})
    .describe('In place of `rate_limits.default`, by the `key_id` of an API key; null is no limit.'),
  documentation: RateLimit.nullable()
    .default({ capacity: 300, interval_seconds: 60 })
    .describe(
      'Requests of each address to `/openapi.json`, `/docs` and `/redoc`, which need no key; null is no limit.',
    ),
  refused_keys: RateLimit.nullable()
    .default({ capacity: 100, interval_seconds: 60 })
    .describe(
      'API keys from each address that are looked up and not found; null is no limit. Keys that are known to this host go on working.',
    ),
});
