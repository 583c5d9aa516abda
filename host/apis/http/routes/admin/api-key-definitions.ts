import * as z from 'zod';
import { MAX_NAME } from '../../../../base/schemas/index.ts';
import { KeyChanges, NewKey } from '../../../../data/access/index.ts';
import { answers, DATABASE_FAILURES, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { PAGE, Time, TimeOrNull } from '../../../openapi/values.ts';

const ApiKey = z.object({
  key_id: z.string().describe('Names the key.'),
  user_id: z.string().describe('The owner of tasks and webhooks that the key makes.'),
  subscription_id: z.string(),
  is_subscription_active: z.boolean(),
  is_admin: z.boolean(),
  scopes: KeyChanges.shape.scopes.unwrap(),
  expired_at: TimeOrNull,
  created_at: Time,
  last_used_at: TimeOrNull,
});

const aKey = answers('The key.', ApiKey);

/** The routes for API keys. */
export const KEY_ROUTES = {
  list: {
    id: 'list_api_keys',
    at: 'get /api/keys',
    summary: 'API keys, the oldest first',
    query: z.object({ user_id: z.string().max(MAX_NAME).optional(), ...PAGE }),
    answers: answers('The keys.', z.object({ keys: z.array(ApiKey) })),
    fails: [422, ...DATABASE_FAILURES],
  },
  create: {
    id: 'create_api_key',
    at: 'post /api/keys',
    summary: 'Make an API key',
    body: NewKey,
    answers: {
      201: {
        description: 'The key, which is not shown again.',
        schema: z.object({ api_key: z.string(), ...ApiKey.shape }),
      },
    },
    fails: [409, ...DATABASE_FAILURES],
  },
  get: {
    id: 'get_api_key',
    at: 'get /api/keys/{key_id}',
    summary: 'An API key',
    answers: aKey,
    fails: [404, ...DATABASE_FAILURES],
  },
  update: {
    id: 'update_api_key',
    at: 'put /api/keys/{key_id}',
    summary: 'Change an API key',
    body: KeyChanges,
    answers: aKey,
    fails: [404, ...DATABASE_FAILURES],
  },
  revoke: {
    id: 'revoke_api_key',
    at: 'delete /api/keys/{key_id}',
    summary: 'Revoke an API key',
    answers: answers('The key is revoked.', z.object({ key_id: z.string() })),
    fails: [404, ...DATABASE_FAILURES],
  },
  setSubscription: {
    id: 'set_subscription',
    at: 'put /api/subscriptions/{subscription_id}',
    summary: 'Switch a subscription on or off',
    tag: 'keys',
    body: z.strictObject({ is_active: z.boolean() }),
    answers: answers(
      'The state of the subscription, and the number of its keys.',
      z.object({ subscription_id: z.string(), is_active: z.boolean(), keys: z.int() }),
    ),
    fails: DATABASE_FAILURES,
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
