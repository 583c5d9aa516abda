import type { oas31 } from 'openapi3-ts';
import { TASK_STATUSES } from '../tasks/index.ts';
import { WEBHOOK_EVENTS } from '../webhooks/index.ts';
import { type ErrorStatus, failures } from './failures.ts';
import { COUNTS, jsonAnswer, PAGE, pathId, query, TIME } from './parts.ts';

const ID: oas31.SchemaObject = { type: 'string', format: 'uuid' };
const USER: oas31.SchemaObject = { type: ['string', 'null'], description: 'Whose it is; null is nobody.' };
const STATUS: oas31.SchemaObject = { type: 'string', enum: [...TASK_STATUSES] };
const HIDDEN = 'Where `api_service.admins_see_contents` is set.';

const TASK: oas31.SchemaObject = {
  type: 'object',
  properties: {
    id: ID,
    user_id: USER,
    endpoint: { type: 'string', description: 'Path of the endpoint.' },
    status: STATUS,
    error: { type: ['string', 'null'], description: 'Name of the error that a failed task ended with.' },
    progress: { type: 'number', minimum: 0, maximum: 100, description: 'Per cent.' },
    num_retries: { type: 'integer', description: 'Attempts so far.' },
    priority: { type: 'integer' },
    created_at: TIME,
    assigned_at: TIME,
    completed_at: TIME,
    data: { description: `The input. ${HIDDEN}` },
    result: { description: `The output, or the error of a failed task. ${HIDDEN}` },
  },
  required: ['id', 'user_id', 'endpoint', 'status', 'error'],
};
const WEBHOOK: oas31.SchemaObject = {
  type: 'object',
  properties: {
    id: ID,
    user_id: USER,
    url: {
      type: 'string',
      format: 'uri',
      description: 'Scheme, host and port; the whole URL where `api_service.admins_see_contents` is set.',
    },
    events: { type: 'array', items: { enum: [...WEBHOOK_EVENTS] } },
    enabled: { type: 'boolean' },
    disabled_at: TIME,
    disabled_reason: { type: ['string', 'null'] },
  },
  required: ['id', 'user_id', 'url', 'events', 'enabled', 'disabled_at', 'disabled_reason'],
};
const listOf = (name: string, items: oas31.SchemaObject): oas31.SchemaObject => ({
  type: 'object',
  properties: { [name]: { type: 'array', items } },
  required: [name],
});

const OF_USER = query('user_id', { type: 'string' }, 'Whose are meant. Default: everybody’s.');
const FILTER = [
  query('status', STATUS),
  query('endpoint', { type: 'string', minLength: 1, maxLength: 255 }),
  query('error', { type: 'string', minLength: 1, maxLength: 255 }, 'Name of the error that they failed with.'),
];

function operation(
  operationId: string,
  summary: string,
  answer: oas31.SchemaObject,
  fails: readonly ErrorStatus[],
  parameters: readonly oas31.ParameterObject[] = [],
): oas31.OperationObject {
  const responses = { '200': jsonAnswer('The answer.', answer), ...failures(...fails, 500, 503) };
  return {
    operationId,
    summary,
    tags: ['admin'],
    ...(parameters.length > 0 && { parameters: [...parameters] }),
    responses,
  };
}

/** The routes over everybody's tasks. */
export const ADMIN_TASK_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  [
    '/api/tasks',
    {
      get: operation(
        'list_all_tasks',
        'Tasks of all users, the newest first',
        listOf('tasks', TASK),
        [422],
        [OF_USER, ...FILTER, ...PAGE],
      ),
    },
  ],
  [
    '/api/tasks/count',
    { get: operation('count_all_tasks', 'How many tasks all users have, by status', COUNTS, [], [OF_USER]) },
  ],
  [
    '/api/tasks/{task_id}',
    {
      parameters: [pathId('task_id')],
      get: operation('get_any_task', 'A task of any user', TASK, [404]),
      delete: operation('delete_any_task', 'Remove a task of any user that no host has', TASK, [400, 404]),
    },
  ],
  [
    '/api/tasks/{task_id}/cancel',
    {
      parameters: [pathId('task_id')],
      post: operation('cancel_any_task', 'End a task of any user that waits or runs', TASK, [404, 409]),
    },
  ],
];

/** The routes over everybody's webhooks. */
export const ADMIN_WEBHOOK_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  [
    '/api/webhooks',
    {
      get: operation(
        'list_all_webhooks',
        'Webhooks of all users, the oldest first',
        listOf('webhooks', WEBHOOK),
        [422],
        [OF_USER, ...PAGE],
      ),
    },
  ],
  [
    '/api/webhooks/{webhook_id}',
    {
      parameters: [pathId('webhook_id')],
      delete: operation('delete_any_webhook', 'Remove a webhook of any user, with what waits for it', WEBHOOK, [404]),
    },
  ],
];
