import type { oas31 } from 'openapi3-ts';
import { TASK_STATUSES } from '../tasks/index.ts';
import { type ErrorStatus, failures } from './failures.ts';
import { COUNTS, jsonAnswer, PAGE, pathId, query, TIME } from './parts.ts';

const reference = (name: string): oas31.ReferenceObject => ({ $ref: `#/components/schemas/${name}` });
const TASK = reference('Task');
export const TASK_ID: oas31.ReferenceObject = reference('TaskId');

const STATUS: oas31.SchemaObject = { type: 'string', enum: [...TASK_STATUSES] };

/** Schemas of the routes for tasks, by their names among the components. */
export const TASK_SCHEMAS: readonly [name: string, schema: oas31.SchemaObject][] = [
  [
    'TaskId',
    {
      type: 'object',
      properties: { task_id: { type: 'string', format: 'uuid' } },
      required: ['task_id'],
      additionalProperties: false,
    },
  ],
  [
    'Task',
    {
      type: 'object',
      properties: {
        id: { type: 'string', format: 'uuid' },
        endpoint: { type: 'string', description: 'Path of the endpoint.' },
        data: { description: 'The input.' },
        status: STATUS,
        result: { description: 'The output, a list of them for a streaming endpoint, or the error of a failed task.' },
        progress: { type: 'number', minimum: 0, maximum: 100, description: 'Per cent.' },
        num_retries: { type: 'integer', description: 'Attempts so far.' },
        priority: { type: 'integer' },
        created_at: TIME,
        assigned_at: TIME,
        completed_at: TIME,
        omitted: {
          type: 'array',
          items: { type: 'string', enum: ['data', 'result'] },
          description: 'In a list: what is too large for it, and null there. The task alone has it.',
        },
      },
      required: ['id', 'endpoint', 'data', 'status', 'result'],
    },
  ],
];

const ATTEMPT: oas31.SchemaObject = {
  type: 'object',
  properties: {
    attempt: { type: 'integer', minimum: 1 },
    host: { type: 'string', description: 'Which process had it.' },
    started_at: TIME,
    ended_at: TIME,
    outcome: {
      type: ['string', 'null'],
      description:
        'The status that it left the task in, or lost when its host was not heard of any more; null while it runs.',
    },
    error: { type: ['object', 'null'], description: 'What it failed with.' },
  },
  required: ['attempt', 'host', 'started_at', 'ended_at', 'outcome', 'error'],
};
const RETRIED: oas31.SchemaObject = {
  type: 'object',
  properties: { count: { type: 'integer' }, task_ids: { type: 'array', items: { type: 'string', format: 'uuid' } } },
  required: ['count', 'task_ids'],
};

interface TaskOperation extends Partial<oas31.OperationObject> {
  readonly answer: oas31.SchemaObject | oas31.ReferenceObject;
  readonly fails: readonly ErrorStatus[];
}

/** What every one of these routes can fail with: its database may be away. */
const ALWAYS = [500, 503] as const;

function operation(
  operationId: string,
  summary: string,
  { answer, fails, ...others }: TaskOperation,
): oas31.OperationObject {
  return {
    operationId,
    summary,
    tags: ['tasks'],
    responses: { '200': jsonAnswer('The answer.', answer), ...failures(...fails, ...ALWAYS) },
    ...others,
  };
}

/** What a request can say of the task that it is to become. */
export function deferParameters(defer: 'always' | 'optional'): oas31.ParameterObject[] {
  return [
    ...(defer === 'optional'
      ? [query('defer', { type: 'boolean', default: false }, 'Keep the request as a task, and answer with its id.')]
      : []),
    query(
      'priority',
      { type: 'integer', minimum: -1000, maximum: 1000, default: 0 },
      'Of the task: higher ones first among those of the same user.',
    ),
    query(
      'execution_timeout',
      { type: 'number', exclusiveMinimum: 0, maximum: 604_800 },
      'Of the task: seconds for one attempt.',
    ),
    {
      name: 'Idempotency-Key',
      in: 'header',
      schema: { type: 'string', maxLength: 255 },
      description: 'Of the task: the same key with the same request gives the same task.',
    },
  ];
}

const LIST: oas31.SchemaObject = {
  type: 'object',
  properties: { tasks: { type: 'array', items: TASK } },
  required: ['tasks'],
};
const ATTEMPTS: oas31.SchemaObject = {
  type: 'object',
  properties: { attempts: { type: 'array', items: ATTEMPT } },
  required: ['attempts'],
};
/** Which tasks are meant. */
const FILTER: readonly oas31.ParameterObject[] = [
  query('endpoint', { type: 'string', minLength: 1, maxLength: 255 }, 'Path of their endpoint.'),
  query('error', { type: 'string', minLength: 1, maxLength: 255 }, 'Name of the error that they failed with.'),
];
const LISTED = [query('status', STATUS), ...FILTER, ...PAGE];
const EVENT: oas31.SchemaObject = {
  type: 'object',
  description: 'One event.',
  properties: {
    id: { type: 'string', description: 'Where to go on after the connection was lost.' },
    event: {
      type: 'string',
      enum: ['created', 'assigned', 'running', 'progress', 'chunk', 'not_finished', 'completed', 'failed', 'cancelled'],
    },
    data: { type: 'string', contentMediaType: 'application/json' },
  },
  required: ['id', 'event', 'data'],
};
const EVENTS: oas31.ResponseObject = {
  description: 'Events until the task has ended.',
  content: { 'text/event-stream': { schema: EVENT } },
};

/** The routes for tasks. */
export const TASK_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  [
    '/tasks',
    { get: operation('list_tasks', 'Tasks, the newest first', { answer: LIST, fails: [422], parameters: LISTED }) },
  ],
  [
    '/tasks/count',
    { get: operation('count_tasks', 'How many tasks there are, by status', { answer: COUNTS, fails: [] }) },
  ],
  [
    '/tasks/retry',
    {
      post: operation('retry_tasks', 'Give failed tasks new attempts, those that failed first', {
        answer: RETRIED,
        fails: [422, 429],
        parameters: [
          ...FILTER,
          query('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }, 'How many at most.'),
        ],
      }),
    },
  ],
  [
    '/tasks/{task_id}',
    {
      parameters: [pathId('task_id')],
      get: operation('get_task', 'A task', { answer: TASK, fails: [404] }),
      delete: operation('delete_task', 'Remove a task that no host has', { answer: TASK, fails: [400, 404] }),
    },
  ],
  [
    '/tasks/{task_id}/retry',
    {
      parameters: [pathId('task_id')],
      post: operation('retry_task', 'Give a failed task new attempts', { answer: TASK, fails: [400, 404, 409, 429] }),
    },
  ],
  [
    '/tasks/{task_id}/cancel',
    {
      parameters: [pathId('task_id')],
      post: operation('cancel_task', 'End a task that waits or runs', { answer: TASK, fails: [400, 404, 409] }),
    },
  ],
  [
    '/tasks/{task_id}/attempts',
    {
      parameters: [pathId('task_id')],
      get: operation('list_task_attempts', 'What became of each attempt at a task', { answer: ATTEMPTS, fails: [404] }),
    },
  ],
  [
    '/tasks/{task_id}/events',
    {
      parameters: [pathId('task_id')],
      get: {
        operationId: 'watch_task',
        summary: 'What happens to a task, as server-sent events',
        tags: ['tasks'],
        parameters: [
          query(
            'last_event_id',
            { type: 'integer', minimum: 0 },
            'The event after which to begin; the header Last-Event-ID says the same.',
          ),
        ],
        responses: { '200': EVENTS, ...failures(404, 422, 429, ...ALWAYS) },
      },
    },
  ],
  [
    '/tasks/get/{task_id}',
    {
      parameters: [pathId('task_id')],
      get: operation('get_task_legacy', 'A task', { answer: TASK, fails: [404], deprecated: true }),
    },
  ],
  [
    '/tasks/delete/{task_id}',
    {
      parameters: [pathId('task_id')],
      get: operation('delete_task_legacy', 'Remove a task', {
        answer: TASK_ID,
        fails: [400, 403, 404],
        deprecated: true,
      }),
    },
  ],
];
