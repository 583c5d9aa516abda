import type { oas31 } from 'openapi3-ts';
import type { ServedEndpoint } from '../endpoints/index.ts';
import { TASK_STATUSES } from '../tasks/index.ts';

export const TASK_ID_SCHEMA: oas31.SchemaObject = { type: 'object', properties: { task_id: { type: 'string', format: 'uuid' } }, required: ['task_id'] };

const TIME: oas31.SchemaObject = { type: ['string', 'null'], format: 'date-time' };
const TASK: oas31.SchemaObject = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    endpoint: { type: 'string', description: 'Path of the endpoint.' },
    data: { description: 'The input.' },
    status: { enum: [...TASK_STATUSES] },
    result: { description: 'The output, a list of them for a streaming endpoint, or the error of a failed task.' },
    progress: { type: 'number', minimum: 0, maximum: 100 },
    num_retries: { type: 'integer', description: 'Attempts so far.' },
    priority: { type: 'integer' },
    created_at: TIME,
    assigned_at: TIME,
    completed_at: TIME,
  },
  required: ['id', 'endpoint', 'data', 'status', 'result'],
};
const ATTEMPT: oas31.SchemaObject = {
  type: 'object',
  properties: {
    attempt: { type: 'integer', minimum: 1 },
    host: { type: 'string', description: 'Which process had it.' },
    started_at: TIME,
    ended_at: TIME,
    outcome: { type: ['string', 'null'], description: 'The status that it left the task in, or lost when its host was not heard of any more; null while it runs.' },
    error: { type: ['object', 'null'], description: 'What it failed with.' },
  },
  required: ['attempt', 'host', 'started_at', 'ended_at', 'outcome', 'error'],
};
const RETRIED: oas31.SchemaObject = { type: 'object', properties: { count: { type: 'integer' }, task_ids: { type: 'array', items: { type: 'string', format: 'uuid' } } }, required: ['count', 'task_ids'] };
const ERROR: oas31.ReferenceObject = { $ref: '#/components/schemas/Error' };
const ID: oas31.ParameterObject = { name: 'task_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } };

const json = (description: string, schema: oas31.SchemaObject | oas31.ReferenceObject): oas31.ResponseObject => ({ description, content: { 'application/json': { schema } } });
const query = (name: string, schema: oas31.SchemaObject, description?: string): oas31.ParameterObject => ({ name, in: 'query', schema, ...(description !== undefined && { description }) });

function operation(operationId: string, summary: string, answer: oas31.SchemaObject, others: Partial<oas31.OperationObject> = {}): oas31.OperationObject {
  return { operationId, summary, tags: ['tasks'], responses: { '200': json('The answer.', answer), '404': json('There is no such task.', ERROR) }, ...others };
}

/** What a request can say of the task that it is to become. */
export function deferParameters({ deferOption = 'optional' }: ServedEndpoint): oas31.ParameterObject[] {
  return [
    ...(deferOption === 'optional' ? [query('defer', { type: 'boolean', default: false }, 'Keep the request as a task, and answer with its id.')] : []),
    query('priority', { type: 'integer', default: 0 }, 'Of the task: higher ones first.'),
    query('execution_timeout', { type: 'number' }, 'Of the task: seconds for one attempt.'),
    { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' }, description: 'Of the task: the same key with the same request gives the same task.' },
  ];
}

/** Which tasks are meant. */
const FILTER: readonly oas31.ParameterObject[] = [
  query('endpoint', { type: 'string', maxLength: 255 }, 'Path of their endpoint.'),
  query('error', { type: 'string', maxLength: 255 }, 'Name of the error that they failed with.'),
];

/** The routes for tasks. */
export const TASK_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  ['/tasks', { get: operation('list_tasks', 'Tasks, the newest first', { type: 'object', properties: { tasks: { type: 'array', items: TASK } }, required: ['tasks'] }, {
    parameters: [query('status', { enum: [...TASK_STATUSES] }), ...FILTER, query('page', { type: 'integer', minimum: 1, default: 1 }), query('per_page', { type: 'integer', minimum: 1, maximum: 1000, default: 100 })],
  }) }],
  ['/tasks/count', { get: operation('count_tasks', 'How many tasks there are, by status', { type: 'object', additionalProperties: { type: 'integer' }, properties: { total: { type: 'integer' } }, required: ['total'] }) }],
  ['/tasks/retry', { post: operation('retry_tasks', 'Give failed tasks new attempts, those that failed first', RETRIED, {
    parameters: [...FILTER, query('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }, 'How many at most.')],
  }) }],
  ['/tasks/{task_id}', {
    parameters: [ID],
    get: operation('get_task', 'A task', TASK),
    delete: operation('delete_task', 'Remove a task that no host has', TASK),
  }],
  ['/tasks/{task_id}/retry', { parameters: [ID], post: operation('retry_task', 'Give a failed task new attempts', TASK) }],
  ['/tasks/{task_id}/cancel', { parameters: [ID], post: operation('cancel_task', 'End a task that waits or runs', TASK) }],
  ['/tasks/{task_id}/attempts', { parameters: [ID], get: operation('list_task_attempts', 'What became of each attempt at a task', { type: 'object', properties: { attempts: { type: 'array', items: ATTEMPT } }, required: ['attempts'] }) }],
  ['/tasks/{task_id}/events', { parameters: [ID], get: {
    ...operation('watch_task', 'What happens to a task, as server-sent events, from the header Last-Event-ID on', {}),
    parameters: [query('last_event_id', { type: 'integer' })],
    responses: { '200': { description: 'Events until the task has ended: created, assigned, running, progress, chunk, not_finished, completed, failed, cancelled.', content: { 'text/event-stream': { schema: { type: 'string' } } } } },
  } }],
  ['/tasks/get/{task_id}', { parameters: [ID], get: operation('get_task_legacy', 'A task', TASK, { deprecated: true }) }],
  ['/tasks/delete/{task_id}', { parameters: [ID], get: operation('delete_task_legacy', 'Remove a task', TASK_ID_SCHEMA, { deprecated: true }) }],
];
