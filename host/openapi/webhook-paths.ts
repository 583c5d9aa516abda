import type { oas31 } from 'openapi3-ts';
import { BODY_FAILURES, failures } from './failures.ts';
import { TASK_STATUSES } from '../tasks/index.ts';
import { DELIVERY_STATUSES, WEBHOOK_EVENTS } from '../webhooks/index.ts';
import { jsonAnswer, PAGE, pathId, query, TIME } from './parts.ts';

const URL_SCHEMA: oas31.SchemaObject = {
  type: 'string',
  format: 'uri',
  maxLength: 2083,
  description: 'Where events are posted to: http or https.',
};
const EVENTS: oas31.SchemaObject = {
  type: 'array',
  items: { enum: [...WEBHOOK_EVENTS] },
  maxItems: 100,
  description: 'Events that it is for; an empty list is all of them.',
};
const SECRET: oas31.SchemaObject = {
  type: 'string',
  minLength: 16,
  maxLength: 255,
  description: 'What deliveries are signed with. Never shown, but for one that the server made.',
};
const ID_SCHEMA: oas31.SchemaObject = { type: 'string', format: 'uuid' };

const WEBHOOK: oas31.SchemaObject = {
  type: 'object',
  properties: {
    id: ID_SCHEMA,
    url: URL_SCHEMA,
    events: EVENTS,
    enabled: { type: 'boolean', description: 'A disabled one is sent nothing; what happens meanwhile waits.' },
    disabled_at: TIME,
    disabled_reason: { type: ['string', 'null'] },
  },
  required: ['id', 'url', 'events', 'enabled', 'disabled_at', 'disabled_reason'],
};
const CREATED: oas31.SchemaObject = {
  ...WEBHOOK,
  properties: {
    ...WEBHOOK.properties,
    secret: { type: 'string', description: 'Made where no other secret is there to sign with; shown this once.' },
  },
};
const DELIVERY: oas31.SchemaObject = {
  type: 'object',
  properties: {
    id: { ...ID_SCHEMA, description: 'The header webhook-id: the same for every attempt.' },
    event: { enum: [...WEBHOOK_EVENTS] },
    task_id: ID_SCHEMA,
    status: { enum: [...DELIVERY_STATUSES] },
    created_at: { type: 'string', format: 'date-time' },
    ended_at: TIME,
    next_attempt_at: { ...TIME, description: 'Null while it is being sent, and when it has ended.' },
    attempts: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          started_at: { type: 'string', format: 'date-time' },
          ended_at: { type: 'string', format: 'date-time' },
          response_status: { type: ['integer', 'null'] },
          error: { type: ['string', 'null'] },
        },
        required: ['started_at', 'ended_at', 'response_status', 'error'],
      },
    },
  },
  required: ['id', 'event', 'task_id', 'status', 'created_at', 'ended_at', 'next_attempt_at', 'attempts'],
};

const body = (schema: oas31.SchemaObject): oas31.RequestBodyObject => ({
  required: true,
  content: { 'application/json': { schema: { ...schema, type: 'object', additionalProperties: false } } },
});
const listOf = (name: string, items: oas31.SchemaObject): oas31.SchemaObject => ({
  type: 'object',
  properties: { [name]: { type: 'array', items } },
  required: [name],
});

const NOT_FOUND = failures(404);
const INVALID = failures(422);
const BAD_BODY = failures(...BODY_FAILURES);
const DENIED = failures(403);
/** What every one of these routes can fail with: its database may be away. */
const FAILED = failures(500, 503);

function operation(
  operationId: string,
  summary: string,
  responses: oas31.ResponsesObject,
  others: Partial<oas31.OperationObject> = {},
): oas31.OperationObject {
  return { operationId, summary, tags: ['webhooks'], responses: { ...responses, ...FAILED }, ...others };
}

/** The routes for webhooks. */
export const WEBHOOK_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  [
    '/webhooks',
    {
      get: operation('list_webhooks', 'Webhooks, the oldest first', {
        '200': jsonAnswer('The answer.', listOf('webhooks', WEBHOOK)),
      }),
      post: operation(
        'create_webhook',
        'Be told what becomes of tasks',
        { '201': jsonAnswer('The webhook.', CREATED), ...DENIED, ...failures(409), ...BAD_BODY },
        {
          requestBody: body({ properties: { url: URL_SCHEMA, events: EVENTS, secret: SECRET }, required: ['url'] }),
        },
      ),
    },
  ],
  [
    '/webhooks/{webhook_id}',
    {
      parameters: [pathId('webhook_id')],
      get: operation('get_webhook', 'A webhook', { '200': jsonAnswer('The webhook.', WEBHOOK), ...NOT_FOUND }),
      put: operation(
        'update_webhook',
        'Change, disable or enable a webhook; what is null or not given stays',
        { '200': jsonAnswer('The webhook.', WEBHOOK), ...DENIED, ...NOT_FOUND, ...BAD_BODY },
        {
          requestBody: body({
            properties: {
              url: orNull(URL_SCHEMA),
              events: orNull(EVENTS),
              secret: orNull(SECRET),
              enabled: { type: ['boolean', 'null'] },
            },
          }),
        },
      ),
      delete: operation('delete_webhook', 'Remove a webhook with what waits for it', {
        '200': jsonAnswer('What it was.', WEBHOOK),
        ...NOT_FOUND,
      }),
    },
  ],
  [
    '/webhooks/{webhook_id}/deliveries',
    {
      parameters: [pathId('webhook_id')],
      get: operation(
        'list_deliveries',
        'What was sent and what waits, the newest first',
        { '200': jsonAnswer('The answer.', listOf('deliveries', DELIVERY)), ...NOT_FOUND, ...INVALID },
        {
          parameters: [query('status', { enum: [...DELIVERY_STATUSES] }), ...PAGE],
        },
      ),
    },
  ],
  [
    '/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
    {
      parameters: [pathId('webhook_id'), pathId('delivery_id')],
      post: operation('replay_delivery', 'Send a delivery once more', {
        '200': jsonAnswer('The delivery.', DELIVERY),
        ...NOT_FOUND,
        ...failures(409),
      }),
    },
  ],
];

function orNull(schema: oas31.SchemaObject): oas31.SchemaObject {
  return { anyOf: [schema, { type: 'null' }] };
}

const header = (name: string, description: string): oas31.ParameterObject => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description,
});
const PAYLOAD: oas31.SchemaObject = {
  type: 'object',
  properties: {
    task_id: ID_SCHEMA,
    task_type: { type: 'string', description: 'Path of the endpoint.' },
    status: { enum: [...TASK_STATUSES] },
    result: { description: 'The output, a list of them for a streaming endpoint, or the error.' },
    num_retries: { type: 'integer', description: 'Attempts so far.' },
    result_omitted: { const: true, description: 'The result is too large for a message: get it from the task.' },
  },
  required: ['task_id', 'task_type', 'status', 'result', 'num_retries'],
};

/** What is sent to webhooks. */
export const WEBHOOK_MESSAGES: Readonly<Record<string, oas31.PathItemObject>> = {
  task: {
    post: {
      operationId: 'on_task',
      summary: 'Something happened to a task',
      tags: ['webhooks'],
      parameters: [
        header('webhook-id', 'The same for every attempt.'),
        header('webhook-timestamp', 'Seconds since 1970.'),
        header('webhook-signature', 'As in Standard Webhooks: v1, and HMAC-SHA256 over id, time and body in base64.'),
        header('x-signature', 'As in the original: HMAC-SHA256 over the body in hexadecimal.'),
      ],
      requestBody: body({
        properties: { event: { enum: [...WEBHOOK_EVENTS] }, payload: PAYLOAD },
        required: ['event', 'payload'],
      }),
      responses: { '2XX': { description: 'It was taken; anything else is tried again.' } },
    },
  },
};
