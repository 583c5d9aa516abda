import * as z from 'zod';
import { whole } from '../../../../base/core/fields.ts';
import { TASK_STATUSES } from '../../../../data/tasks/index.ts';
import { Task, TaskId } from '../../../openapi/deferral.ts';
import { answers, DATABASE_FAILURES, type RouteDefinition } from '../../../openapi/route-definition.ts';
import { type AnswerOf, choice, Id, PAGE, searchText, Time, TimeOrNull } from '../../../openapi/values.ts';

export const Attempt = z.object({
  attempt: z.int().min(1),
  host: z.string().describe('The process that ran it.'),
  started_at: Time,
  ended_at: TimeOrNull,
  outcome: z
    .string()
    .nullable()
    .describe('The status of the task after the attempt, or lost when its host stopped reporting; null while it runs.'),
  error: z.looseObject({}).nullable().describe('The error that it failed with.'),
});
export type Attempt = AnswerOf<typeof Attempt>;

/** Numbers of tasks by status. */
export const TaskCounts = z.object({ total: z.int() }).catchall(z.int());
export type TaskCounts = AnswerOf<typeof TaskCounts>;

export const TaskEvent = z
  .object({
    id: z.string().describe('Continue after this event when the connection was lost.'),
    event: z.enum([...TASK_STATUSES, 'progress', 'chunk']),
    data: z.string().meta({ contentMediaType: 'application/json' }),
  })
  .describe('One event.');

const SEARCH = {
  endpoint: searchText('Path of their endpoint.'),
  error: searchText('Name of the error that they failed with.'),
};
/** The parameters that choose tasks of a list. */
export const TASK_FILTER = { status: choice(TASK_STATUSES), ...SEARCH, ...PAGE };

/** The parameter of a stream of events. */
export const WATCH_QUERY = z.object({
  last_event_id: z
    .int()
    .min(0)
    .optional()
    .describe('Begin after this event. The header Last-Event-ID has the same meaning.'),
});

const aTask = answers('The task.', Task);

/** The routes for tasks. */
export const TASK_ROUTES = {
  list: {
    id: 'list_tasks',
    at: 'get /tasks',
    summary: 'Tasks, the newest first',
    query: z.object(TASK_FILTER),
    answers: answers('The tasks.', z.object({ tasks: z.array(Task) })),
    fails: [422, ...DATABASE_FAILURES],
  },
  count: {
    id: 'count_tasks',
    at: 'get /tasks/count',
    summary: 'Number of tasks by status',
    answers: answers('The numbers.', TaskCounts),
    fails: DATABASE_FAILURES,
  },
  retryFailed: {
    id: 'retry_tasks',
    at: 'post /tasks/retry',
    summary: 'Give failed tasks new attempts, in the order of their failures',
    query: z.object({ ...SEARCH, limit: whole({ min: 1, max: 1000, default: 100 }, 'Most tasks to retry.') }),
    answers: answers('The tasks that get new attempts.', z.object({ count: z.int(), task_ids: z.array(Id) })),
    fails: [422, 429, ...DATABASE_FAILURES],
  },
  get: {
    id: 'get_task',
    at: 'get /tasks/{task_id}',
    summary: 'A task',
    answers: aTask,
    fails: [404, ...DATABASE_FAILURES],
  },
  delete: {
    id: 'delete_task',
    at: 'delete /tasks/{task_id}',
    summary: 'Remove a task that no host runs',
    answers: answers('The removed task.', Task),
    fails: [400, 404, ...DATABASE_FAILURES],
  },
  retry: {
    id: 'retry_task',
    at: 'post /tasks/{task_id}/retry',
    summary: 'Give a failed task new attempts',
    answers: aTask,
    fails: [400, 404, 409, 429, ...DATABASE_FAILURES],
  },
  cancel: {
    id: 'cancel_task',
    at: 'post /tasks/{task_id}/cancel',
    summary: 'Cancel a task that waits or runs',
    answers: aTask,
    fails: [400, 404, 409, ...DATABASE_FAILURES],
  },
  attempts: {
    id: 'list_task_attempts',
    at: 'get /tasks/{task_id}/attempts',
    summary: 'The attempts of a task, with their outcomes',
    answers: answers('The attempts.', z.object({ attempts: z.array(Attempt) })),
    fails: [404, ...DATABASE_FAILURES],
  },
  watch: {
    id: 'watch_task',
    at: 'get /tasks/{task_id}/events',
    summary: 'The events of a task, as server-sent events',
    query: WATCH_QUERY,
    answers: { 200: { description: 'Events until the task has ended.', schema: TaskEvent, type: 'text/event-stream' } },
    fails: [404, 422, 429, ...DATABASE_FAILURES],
  },
  getLegacy: {
    id: 'get_task_legacy',
    at: 'get /tasks/get/{task_id}',
    summary: 'A task',
    answers: aTask,
    fails: [404, ...DATABASE_FAILURES],
    isDeprecated: true,
  },
  deleteLegacy: {
    id: 'delete_task_legacy',
    at: 'get /tasks/delete/{task_id}',
    summary: 'Remove a task',
    answers: answers('The removed task.', TaskId),
    fails: [400, 403, 404, ...DATABASE_FAILURES],
    isDeprecated: true,
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
