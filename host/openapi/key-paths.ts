import type { oas31 } from 'openapi3-ts';
import { BODY_FAILURES, failures } from './failures.ts';
import { jsonAnswer, PAGE, query, TIME } from './parts.ts';

const SCOPES: oas31.SchemaObject = {
  type: ['array', 'null'],
  items: { type: 'string' },
  description:
    '`endpoints`, `tasks`, `webhooks`, `admin`, `/a/path` or `/a/*`; null for everything that the user may do.',
};
const KEY: oas31.SchemaObject = {
  type: 'object',
  properties: {
    key_id: { type: 'string', description: 'Names the key.' },
    user_id: { type: 'string', description: 'Whom tasks and webhooks belong to.' },
    subscription_id: { type: 'string' },
    is_subscription_active: { type: 'boolean' },
    is_admin: { type: 'boolean' },
    scopes: SCOPES,
    expired_at: TIME,
    created_at: { type: 'string', format: 'date-time' },
    last_used_at: TIME,
  },
  required: [
    'key_id',
    'user_id',
    'subscription_id',
    'is_subscription_active',
    'is_admin',
    'scopes',
    'expired_at',
    'created_at',
    'last_used_at',
  ],
};
const HMAC_SECRET: oas31.SchemaObject = {
  type: ['string', 'null'],
  minLength: 16,
  maxLength: 255,
  description: "What the user's webhooks are signed with.",
};
const CHANGES = {
  is_admin: { type: 'boolean' },
  scopes: SCOPES,
  expired_at: TIME,
  hmac_secret: HMAC_SECRET,
} satisfies oas31.SchemaObject['properties'];
const NEW_KEY: oas31.SchemaObject = {
  type: 'object',
  properties: {
    user_id: { type: 'string', minLength: 1, maxLength: 255 },
    key_id: { type: 'string', maxLength: 255, pattern: '^[\\w.@:-]+$' },
    subscription_id: { type: 'string', minLength: 1, maxLength: 255, description: 'Default: the user.' },
    is_subscription_active: { type: 'boolean', default: true },
    ...CHANGES,
  },
  required: ['user_id'],
  additionalProperties: false,
};

const idOf = (name: string): oas31.ParameterObject => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
});
const MISSING = failures(404);

function operation(
  operationId: string,
  summary: string,
  responses: oas31.ResponsesObject,
  body?: oas31.SchemaObject,
): oas31.OperationObject {
  return {
    operationId,
    summary,
    tags: ['keys'],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...responses, ...(body && failures(...BODY_FAILURES)), ...failures(500, 503) },
  };
}

/** The routes for API keys. */
export const API_KEY_PATHS: oas31.PathsObject = {
  '/api/keys': {
    get: {
      ...operation('list_api_keys', 'API keys, the oldest first', {
        '200': jsonAnswer('The keys.', {
          type: 'object',
          properties: { keys: { type: 'array', items: KEY } },
          required: ['keys'],
        }),
        ...failures(422),
      }),
      parameters: [query('user_id', { type: 'string' }), ...PAGE],
    },
    post: operation(
      'create_api_key',
      'Make an API key',
      {
        '201': jsonAnswer('The key, which is not shown again.', {
          ...KEY,
          properties: { api_key: { type: 'string' }, ...KEY.properties },
          required: ['api_key', ...(KEY.required ?? [])],
        }),
        ...failures(409),
      },
      NEW_KEY,
    ),
  },
  '/api/keys/{key_id}': {
    parameters: [idOf('key_id')],
    get: operation('get_api_key', 'An API key', { '200': jsonAnswer('The key.', KEY), ...MISSING }),
    put: operation(
      'update_api_key',
      'Change what an API key is for',
      { '200': jsonAnswer('The key.', KEY), ...MISSING },
      { type: 'object', properties: CHANGES, additionalProperties: false },
    ),
    delete: operation('revoke_api_key', 'Revoke an API key', {
      '200': jsonAnswer('It is gone.', {
        type: 'object',
        properties: { key_id: { type: 'string' } },
        required: ['key_id'],
      }),
      ...MISSING,
    }),
  },
  '/api/subscriptions/{subscription_id}': {
    parameters: [idOf('subscription_id')],
    put: operation(
      'set_subscription',
      'Switch a subscription on or off',
      {
        '200': jsonAnswer('What it is now, and how many keys have it.', {
          type: 'object',
          properties: {
            subscription_id: { type: 'string' },
            is_active: { type: 'boolean' },
            keys: { type: 'integer' },
          },
          required: ['subscription_id', 'is_active', 'keys'],
        }),
      },
      {
        type: 'object',
        properties: { is_active: { type: 'boolean' } },
        required: ['is_active'],
        additionalProperties: false,
      },
    ),
  },
};
