import * as z from 'zod';
import { settings } from '../registry.ts';

const tokens = (most: number, description: string): z.ZodNullable<z.ZodInt> =>
  z.int().min(1).max(most).nullable().describe(description);

const limits = {
  max_output_tokens: tokens(
    10_000_000,
    'Most tokens of a text that a model generates for a user. A longer text ends with the reason `length`. null ' +
      'is no limit.',
  ),
  tokens_per_minute: tokens(
    1_000_000_000,
    'Most tokens of prompts and answers of a user in a minute, on all hosts. Further calls of models for texts are ' +
      'refused (status 429). null is no limit.',
  ),
  tokens_per_month: tokens(
    1_000_000_000_000,
    'Most tokens of prompts and answers of a user in a calendar month (UTC), on all hosts together. Further calls ' +
      'of models for texts are refused (status 429). null is no limit.',
  ),
  max_requests: tokens(
    1_000_000,
    'Most requests of a user that each host answers at the same time; more are refused (status 429). Requests with ' +
      'GET and WebSockets do not count. null is no limit.',
  ),
};
const some = z.strictObject(limits).partial();

/** Limits of the callers. A caller is a user or, without API keys, an address. */
export const UserLimitsConfig = z.strictObject({
  max_output_tokens: limits.max_output_tokens.default(null).register(settings, { isLive: true }),
  tokens_per_minute: limits.tokens_per_minute.default(null).register(settings, { isLive: true }),
  tokens_per_month: limits.tokens_per_month.default(null).register(settings, { isLive: true }),
  max_requests: limits.max_requests.default(null).register(settings, { isLive: true }),
  users: z
    .record(z.string().min(1).max(255), some)
    .default({})
    .describe(
      'Values that replace the four settings above for one user, by `user_id`: `{"ann": {"max_requests": 50}}`.',
    )
    .register(settings, { env: 'AANA_USER_LIMITS_USERS', isLive: true }),
  keys: z
    .record(z.string().min(1).max(255), some)
    .default({})
    .describe(
      'Further limits of single API keys, by `key_id`. The limits of the user count too. Tasks count for the ' +
        'user alone.',
    )
    .register(settings, { env: 'AANA_USER_LIMITS_KEYS', isLive: true }),
});
